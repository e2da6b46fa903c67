// The beginning and the end of runs, of which two may be under way at a time: the second is handed over before the first is done.
// The devices do the same work in the same order as if the host had waited in between.
#include "runtime/lanes/executor.h"

#include <algorithm>

namespace sheaf {
namespace {

/// From here on inputs that come ahead are in the memory that the last run's copies filled.
void use_other_places(LaneProgram& program) {
  for (TwoPlaces& place : program.two_places) std::swap(program.slots[place.slot], place.other);
  if (!program.two_places.empty()) program.second = !program.second;
}

}  // namespace

void Executor::prepare(const PrintSink* sink, const Ahead& ahead) {
  sink_ = sink && *sink ? sink : nullptr;
  ahead_ = ahead;
  if (ahead.came) {
    for (auto& lane : lanes_) use_other_places(lane->program);
    second_ = !second_;
  }
  // Where all inputs come ahead, their memory and the phase change together: two recordings do.
  phase_ = !may_overlap_ ? 0 : under_way_ > 0 ? 1 - phase_ : second_ ? 1 : 0;
  ends_.clear();
  if (under_way_ == 0) return forget_failures();
  if (lost_.load(std::memory_order_relaxed)) return;
  for (auto& lane : lanes_)
    if (!lane->program.operations.empty()) ends_.push_back(lane->program.ends[1 - phase_]);
}

void Executor::forget_failures() {
  for (auto& lane : lanes_) {
    lane->failure.failed = false;
    lane->device_failure.error.diagnostics.clear();
  }
  failed_.store(false, std::memory_order_relaxed);
  lost_.store(false, std::memory_order_relaxed);
}

void Executor::begin_run(Lane& lane) {
  OverlapsRuns* queue = lane.program.overlapping;
  if (!queue) return lane.program.queue->begin_run();
  RunBegin begin;
  begin.phase = phase_;
  begin.clears = under_way_ == 0 && (lane.clears || queue->disturbed());
  begin.after = ends_;
  if (under_way_ == 0) lane.clears = true;  // until it is known that none has failed
  queue->begin_run(begin);
}

void Executor::note_failure_of(Lane& lane, const LaneOperation& operation, int phase) {
  if (!operation.can_fail) return;
  if (operation.executable->failed(phase)) note_failure(lane, operation, operation.executable->failure(phase));
}

void Executor::note_failures(Lane& lane, int phase) {
  for (uint32_t i = lane.begin; i < lane.end; ++i) note_failure_of(lane, lane.program.operations[i], phase);
  lane.clears = lane.failure.failed;
}

bool Executor::can_start() const {
  return may_overlap_ && !unloaded_ && std::ranges::none_of(lanes_, [](const auto& lane) {
           return !lane->program.operations.empty() && lane->program.overlapping->disturbed();
         });
}

void Executor::start(const PrintSink* sink, const Ahead& ahead) {
  prepare(sink, ahead);
  for (auto& lane : lanes_) {
    lane->times = {};
    lane->begin = 0;
    lane->end = static_cast<uint32_t>(lane->program.operations.size());
  }
  starting_ = true;
  execute_all(true);
  starting_ = false;
  ++under_way_;
}

void Executor::end_oldest() {
  const auto end = [&](bool all) {
    for (auto& lane : lanes_) {
      if (lane->program.operations.empty()) continue;
      const LaneProgram& program = lane->program;
      if (auto done = all ? program.queue->synchronize() : program.overlapping->finish_run(); !done)
        lose(*lane, std::move(done.error()), {});
      all |= lost_.load(std::memory_order_relaxed);
    }
  };
  end(lost_.load(std::memory_order_relaxed));
  // Nobody uses the caller's memory any more, for the other run neither.
  if (lost_.load(std::memory_order_relaxed)) end(true);
}

bool Executor::finish() {
  const int phase = under_way_ == 2 ? 1 - phase_ : phase_;
  end_oldest();
  for (auto& lane : lanes_) {
    if (lane->program.operations.empty() || lost_.load(std::memory_order_relaxed)) continue;
    report_unrecorded(*lane);
    note_failures(*lane, phase);
  }
  --under_way_;
  if (!failed_.load(std::memory_order_relaxed)) return true;
  if (under_way_ > 0 && !lost_.load(std::memory_order_relaxed)) end_oldest();
  under_way_ = 0;
  return false;
}

}  // namespace sheaf
