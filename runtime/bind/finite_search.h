// Finds where a loss that isn't finite comes from.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/lanes/executor.h"

#include <vector>

namespace sheaf {

/// The floating-point results of a program's operations.
class FiniteSearch {
 public:
  FiniteSearch() = default;
  explicit FiniteSearch(const BoundProgram& program);

  /// Runs a training program once more without its updates, on its executor's buffers, and returns the first operation, in
  /// program order, whose result isn't finite; none: there is none. Errors: a device's.
  Result<InstanceId> run(Executor& executor, const DeviceSet& devices) const;

 private:
  struct FloatResult {
    uint32_t slot;  ///< among the operation's
    DType dtype;
    size_t bytes;
  };
  IdVector<InstanceId, std::vector<FloatResult>> results_;
};

}  // namespace sheaf
