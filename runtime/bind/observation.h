// A run shown operation by operation, with the values that each operation completes.
#pragma once

#include "runtime/bind/lowering.h"
#include "runtime/lanes/executor.h"

#include <functional>
#include <span>
#include <vector>

namespace sheaf {

/// A value of the program on one replica, as Observation shows it.
struct BoundValue {
  int value = -1;      ///< in Program::values
  int replica = 0;     ///< 0 outside regions
  int operation = -1;  ///< in BindingInfo::operations: the value exists after it; -1: from the start
  LaneId lane;         ///< in whose memory it is
  TensorSpec spec;
  bool constant = false;  ///< a weight, or made only from weights, or the caller's input: not to be written
  void* data = nullptr;
};

/// Shows values as they are made. `values` are those that `operation` completes; -1: those that exist before any.
/// False stops the run.
using Observer = std::function<bool(int operation, std::span<const BoundValue> values)>;

class Observation {
 public:
  Observation() = default;
  explicit Observation(const Addresses& addresses);
  Observation(Observation&&) = default;  // the values, to which buffers' addresses are bound, stay in place
  Observation& operator=(Observation&&) = default;

  /// Runs all operations on the caller's thread, one by one in program order, updates included, without printing.
  /// False: an operation failed, which the executor knows. Errors: a device's.
  Result<bool> run(Executor& executor, const Observer& look) const;

 private:
  std::vector<BoundValue> values_;  ///< by operation
};

}  // namespace sheaf
