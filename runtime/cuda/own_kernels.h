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
  /// Kernels are loaded on first request. Error: a build without nvcc has none.
  static Result<std::shared_ptr<OwnKernels>> open(Driver& driver, int device);
  ~OwnKernels();

  Driver& driver() const { return driver_; }
  int device() const { return device_; }
  /// The kernel of this name; `file`: the .cu file that it is in, without extension. Errors: what the driver's compiler says.
  Result<Function> find(const std::string& file, const std::string& name);
  /// The number of a word in the modules' memory at which the blocks of one operation's launches meet (norm.cuh), its own while it is
  /// kept; null: none is left.
  std::shared_ptr<const unsigned> meeting_word();
  /// Blocks of a kernel, `by_multiprocessor` at a time, that are there at once. 0: they may not wait for each other.
  static unsigned most_together(const DeviceProperties& properties, int by_multiprocessor) {
    return properties.launches_together ? unsigned(properties.multiprocessors * by_multiprocessor) : 0;
  }
  /// Leaves what is loaded to the process (Library::abandon()).
  void abandon();
  /// Blocks that fill the device several times over: more wouldn't be faster.
  unsigned most_blocks() const { return most_blocks_; }

 private:
  OwnKernels(Driver& driver, int device);

  struct Loaded {
    std::string file;
    Module module;
  };
  Driver& driver_;
  int device_;
  unsigned most_blocks_;
  std::mutex loading_;
  std::vector<Loaded> modules_;
  struct Words {
    std::mutex mutex;
    std::vector<unsigned> free;
    unsigned next = 0;
  };
  std::shared_ptr<Words> words_ = std::make_shared<Words>();
};

}  // namespace sheaf::cuda
