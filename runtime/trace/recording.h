// One bound program's steps in a trace: what its operations are, and when they ran. Internal to runtime/trace and
// binding.
#pragma once

#include "runtime/device/call_log.h"
#include "runtime/cost/cost.h"
#include "runtime/lanes/communication.h"
#include "runtime/lanes/executor.h"
#include "runtime/plan/plan.h"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

struct TracedOperation {
  std::string op, layer, implementation;
  int replica = -1;
  int instance = -1;  ///< its name in communications
  Cost cost;
  double least_seconds = 0;  ///< by the device's roofline
};

struct TracedLane {
  std::string name;
  Json device = nullptr;  ///< log_entry()
  bool asynchronous = false;
  bool times_work = false;                            ///< its queue tells when the device did the work
  double flops_per_second = 0, bytes_per_second = 0;  ///< the device's roofline
  std::vector<TracedOperation> operations;            ///< in the lane's order
  std::vector<size_t> ahead;                          ///< of them, those that may be done for the next run
  std::vector<std::vector<int>> waits_for;            ///< by operation: lanes
  size_t arena_bytes = 0;                             ///< as allocated; 0 for lanes of other processes
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

/// The last `capacity()` steps, each in its own slot: binding has set how many operations a step has, so recording times
/// allocates nothing.
class Recording {
 public:
  /// `owner`: the trace's identity, kept alive. `counter`: of steps of the program.
  Recording(TracedProgram program, size_t most_operations, std::shared_ptr<const void> owner, std::shared_ptr<int64_t> counter);

  const void* owner() const { return owner_.get(); }
  /// Where the next step's times go, by lane. A step that isn't committed is overwritten.
  std::span<const LaneTimes> begin();
  /// `calls`: the driver calls made meanwhile.
  void commit(int64_t begin, int64_t end, std::span<const CallLog::Call> calls);

  const TracedProgram& program() const { return program_; }
  int64_t steps() const { return steps_; }                                      ///< committed
  size_t kept() const;                                                          ///< of them, the last
  const StepTimes& step(size_t kept_index) const;                               ///< the oldest first
  std::span<const OperationTimes> times(size_t kept_index, size_t lane) const;  ///< one for each operation, and one for the end
  /// When the device did them, one an operation, then one for each of TracedLane::ahead, done for the next run; empty where the
  /// lane's queue can't tell.
  std::span<const WorkTimes> work(size_t kept_index, size_t lane) const;
  /// When an operation ran: on the device where that is known, else in its lane.
  std::pair<int64_t, int64_t> ran(size_t kept_index, size_t lane, size_t operation) const;
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
  std::vector<std::vector<WorkTimes>> work_;        ///< likewise
  std::vector<LaneTimes> next_;                     ///< by lane
  std::vector<std::vector<CallLog::Call>> calls_;   ///< by slot
};

}  // namespace sheaf
