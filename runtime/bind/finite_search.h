// Where a loss that isn't finite comes from.
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

  /// Runs a training program once more without its updates, on the buffers that its executor has: the first operation, in the
  /// order of the program, with a result that isn't finite; none: there is none. Errors: a device's.
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
