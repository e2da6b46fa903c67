// The project's own kernels (runtime/cuda/kernels) on one device of a driver.
#pragma once

#include "runtime/cuda/driver.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sheaf::cuda {

/// Used by any number of threads. The driver outlives it.
class OwnKernels {
 public:
  /// Loads what copies and checks need; the rest when it is first asked for. Errors: a build without nvcc, which has no
  /// kernels; what the driver's compiler says.
  static Result<std::shared_ptr<OwnKernels>> open(Driver& driver, int device);
  ~OwnKernels();

  Driver& driver() const { return driver_; }
  /// The kernel of this name; `file`: the .cu that it is in, without ending.
  Result<Function> find(const std::string& file, const std::string& name);
  /// Blocks that fill the device several times over: more wouldn't be quicker.
  unsigned most_blocks() const { return most_blocks_; }

  // Puts work into a stream; allocates nothing.

  /// A copy within the device; `guard`: as in Enqueue.
  Result<void> copy(Stream stream, void* target, const void* source, const CopyShape& shape, const int32_t* guard) const;
  /// Makes *flag `code` where it is 0 and *status is not.
  Result<void> flag_status(Stream stream, const int64_t* status, int32_t* flag, int32_t code) const;
  /// The same where *x is infinite or not a number.
  Result<void> check_finite(Stream stream, const float* x, int32_t* flag, int32_t code) const;

 private:
  OwnKernels(Driver& driver, int device);
  Result<void> load_copies();

  struct Loaded {
    std::string file;
    Module module;
  };
  Driver& driver_;
  int device_;
  unsigned most_blocks_;
  std::mutex loading_;
  std::vector<Loaded> modules_;
  Function copy_rows_[3] = {}, flag_status_ = nullptr, check_finite_ = nullptr;
};

}  // namespace sheaf::cuda
