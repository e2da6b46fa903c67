// A shared library that is opened while the program runs, and functions in it with their C types.
#pragma once

#include "runtime/base/error.h"

#include <initializer_list>
#include <string>

namespace sheaf::cuda {

/// Stays open until the process ends: NVIDIA's libraries have threads and contexts of their own.
class SharedLibrary {
 public:
  /// Opens the first of `names` ("libcudnn.so.9") that it finds: in the folders of $SHEAF_CUDA_LIBRARIES (DIR:DIR), in the
  /// loader's path (LD_LIBRARY_PATH, its cache), in $CUDA_HOME/lib64, $CUDA_PATH/lib64 and /usr/local/cuda/lib64, then in pip's
  /// folders for NVIDIA's packages: in $VIRTUAL_ENV, $CONDA_PREFIX, and the Python environment that contains this program or
  /// module. `product`: its name in messages ("cuDNN"). Errors: the loader's own words, for the first name that exists
  /// somewhere but cannot be opened, else for the first.
  static Result<SharedLibrary> open(std::string product, std::initializer_list<const char*> names);

  const std::string& product() const { return product_; }
  const std::string& name() const { return name_; }  ///< as opened
  /// The file it was loaded from; empty if unknown.
  std::string path() const;

  void* handle() const { return handle_; }  ///< dlopen's

  /// Null if there is none.
  void* find(const char* symbol) const;

 private:
  std::string product_, name_;
  void* handle_ = nullptr;
};

/// Fills a table of functions, and notes the first that is missing:
///   auto found = Symbols(library).require("cuInit", driver.init).require("cuMemAlloc_v2", driver.allocate).result();
class Symbols {
 public:
  explicit Symbols(const SharedLibrary& library) : library_(library) {}
  template <typename F>
  Symbols& require(const char* symbol, F*& function) {
    function = reinterpret_cast<F*>(library_.find(symbol));
    if (!function && missing_.empty()) missing_ = symbol;
    return *this;
  }
  /// Missing in some versions: null then.
  template <typename F>
  Symbols& optional(const char* symbol, F*& function) {
    function = reinterpret_cast<F*>(library_.find(symbol));
    return *this;
  }
  /// Error: "cuDNN (libcudnn.so.9) has no function cudnnFoo: another version is needed".
  Result<void> result() const;

 private:
  const SharedLibrary& library_;
  std::string missing_;
};

}  // namespace sheaf::cuda
