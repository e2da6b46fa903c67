// One bound program's steps in a trace: what its operations are, and when they ran. Internal to runtime/trace and
// binding.
#pragma once

#include "runtime/device/call_log.h"
#include "runtime/cost/cost.h"
#include "runtime/lanes/communication.h"
#include "runtime/lanes/executor.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

struct TracedOperation {
  std::string op, layer, implementation;
  int replica = -1;
  int instance = -1;  ///< what communications call it
  Cost cost;
  double least_seconds = 0;  ///< by the device's roofline
};

struct TracedLane {
  std::string name;
  bool asynchronous = false;
  double flops_per_second = 0, bytes_per_second = 0;  ///< the device's roofline
  std::vector<TracedOperation> operations;            ///< in the lane's order
  std::vector<std::vector<int>> waits_for;            ///< by operation: lanes
  std::vector<size_t> live_bytes;                     ///< of the arena, by operation; empty if there is no arena
};

/// Copied from a binding, so that a trace can be read after the binding is gone.
struct TracedProgram {
  std::string model, program;  ///< program: "infer", "train"
  int64_t batch = 0;
  std::vector<TracedLane> lanes;
  std::vector<Communication> communications;
  std::string roofline_source;

  size_t operations() const;
};

struct StepTimes {
  int64_t begin = 0, end = 0;  ///< ticks
  int64_t number = 0;          ///< among the trace's steps of the same program, from 1
};

/// The last `capacity()` steps, each in its own slot: binding has said how many operations a step has, so recording times
/// allocates nothing.
class Recording {
 public:
  /// `owner`: the trace's identity, kept alive. `counter`: of steps of the program.
  Recording(TracedProgram program, size_t most_operations, std::shared_ptr<const void> owner, std::shared_ptr<int64_t> counter);

  const void* owner() const { return owner_.get(); }
  /// Where the next step's times go, by lane. A step that isn't committed is overwritten.
  std::span<OperationTimes* const> begin();
  /// `calls`: the driver calls made meanwhile.
  void commit(int64_t begin, int64_t end, std::span<const CallLog::Call> calls);

  const TracedProgram& program() const { return program_; }
  int64_t steps() const { return steps_; }                                      ///< committed
  size_t kept() const;                                                          ///< of them, the last
  const StepTimes& step(size_t kept_index) const;                               ///< the oldest first
  std::span<const OperationTimes> times(size_t kept_index, size_t lane) const;  ///< one an operation, and the end's
  std::span<const CallLog::Call> calls(size_t kept_index) const { return calls_[slot(kept_index)]; }

 private:
  size_t slot(size_t kept_index) const;

  TracedProgram program_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<int64_t> counter_;
  size_t capacity_;
  int64_t steps_ = 0;
  std::vector<StepTimes> step_times_;               ///< by slot
  std::vector<std::vector<OperationTimes>> times_;  ///< by lane: slots one after another
  std::vector<OperationTimes*> next_;               ///< by lane
  std::vector<std::vector<CallLog::Call>> calls_;   ///< by slot
};

}  // namespace sheaf
