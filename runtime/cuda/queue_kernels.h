// The two kernels that a queue itself needs, as hand-written PTX: a build without nvcc has them too.
#pragma once

#include "runtime/cuda/backend_state.h"

#include <array>
#include <memory>

namespace sheaf::cuda {

/// A device's module, unloaded with its last user.
class LoadedModule {
 public:
  static Result<std::shared_ptr<LoadedModule>> load(std::shared_ptr<BackendState> state, int device, const std::string& ptx);
  ~LoadedModule();
  Result<Function> function(const std::string& name) { return state_->driver().function(device_, module_, name); }
  BackendState& state() { return *state_; }
  int device() const { return device_; }

 private:
  LoadedModule(std::shared_ptr<BackendState> state, int device, Module module)
      : state_(std::move(state)), device_(device), module_(module) {}
  std::shared_ptr<BackendState> state_;
  int device_;
  Module module_;
};

class QueueKernels {
 public:
  static Result<std::shared_ptr<const QueueKernels>> load(std::shared_ptr<BackendState> state, int device);
  static const char* ptx();

  /// A copy between memories that the device can access, skipped if *guard isn't 0 when its turn comes.
  Result<void> copy(Stream stream, void* target, const void* source, const CopyShape& shape, const int32_t* guard) const;

  /// The result of a lookup (runtime/steps/kernel_step.h): report[0] = *status; if that isn't 0, also report[1] = the index
  /// that was out of range, and *flag = 1. `report` is pinned host memory; indices are of `index_bytes`, 4 or 8.
  Result<void> report(Stream stream, const int64_t* status, const void* indices, int64_t index_bytes, int64_t* report,
                      int32_t* flag) const;

 private:
  std::shared_ptr<LoadedModule> module_;
  struct Copy {
    Function function = nullptr;
    size_t unit = 1;  ///< bytes that a thread moves at a time
  };
  std::array<Copy, 3> copies_;
  Function report_ = nullptr;
  unsigned most_blocks_ = 1;
};

}  // namespace sheaf::cuda
