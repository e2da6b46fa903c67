// Lanes of asynchronous devices: their operations are launched one at a time, or many as recorded work.
#include "runtime/machine/thread_pool.h"
#include "runtime/lanes/executor.h"
#include "runtime/machine/tick_clock.h"

#include <algorithm>
#include <map>

namespace sheaf {

template <bool timed>
void Executor::hand_over(Lane& lane) {
  LaneProgram& program = lane.program;
  OperationTimes* times = lane.times.operations;
  const bool on_device = timed && lane.times.work;
  begin_run(lane);
  int64_t ready = timed ? ticks() : 0;
  const auto begins = [](const LaneLaunch& launch, uint32_t operation) { return launch.first < operation; };
  const auto from = std::lower_bound(program.launches.begin(), program.launches.end(), lane.begin, begins);
  const auto launch_count =
      static_cast<size_t>(std::lower_bound(from, program.launches.end(), lane.end, begins) - program.launches.begin());
  size_t l = static_cast<size_t>(from - program.launches.begin());
  size_t next_segment = 0;
  while (next_segment < program.segments.size() && program.segments[next_segment].first < l) ++next_segment;
  while (l < launch_count) {
    const LaneOperation& first = program.operations[program.launches[l].first];
    wait(lane, first);
    const int64_t begin = timed && first.first_wait != first.end_wait ? ticks() : ready;
    const bool recorded = !timed && next_segment < program.segments.size() && program.segments[next_segment].first == l;
    if (recorded) {
      LaneSegment& segment = program.segments[next_segment++];
      hand_over(lane, segment);
      l = segment.end;
    } else {
      if (on_device) program.queue->begin_timed();
      hand_over(lane, program.launches[l++]);
      if (on_device) program.queue->end_timed();
    }
    if (timed) {
      const int64_t done = ticks();
      *times++ = {ready, begin, done};
      ready = done;
    }
    signal(lane, program.operations[program.launches[l - 1].end - 1]);
  }
  if (timed) *times = {ready, ready, ready};
  if (starting_ && !lost_.load(std::memory_order_relaxed)) program.overlapping->end_run(*program.ends[phase_]);
  bring_next(lane, on_device);
  if (starting_) return;
  const bool finished = synchronize(lane);
  if (timed) times->done = ticks();
  if (!finished) return;
  if (on_device && !read_work_times(lane, launch_count + program.ahead.size())) return;
  report_unrecorded(lane);
  note_failures(lane, phase_);
}

template void Executor::hand_over<true>(Lane& lane);
template void Executor::hand_over<false>(Lane& lane);

void Executor::bring_next(Lane& lane, bool timed) {
  const LaneProgram& program = lane.program;
  const bool wanted = !ahead_.next.empty() && !lost_.load(std::memory_order_relaxed);
  for (const AheadCopy& copy : program.ahead) {
    if (timed) program.queue->begin_timed();
    if (wanted) {
      const auto* source = static_cast<const char*>(ahead_.next[copy.input]) + copy.source_offset;
      program.queue->copy_ahead(program.two_places[copy.target].other, source, program.operations[copy.operation].copy_shape);
    }
    if (timed) program.queue->end_timed();
  }
}

bool Executor::read_work_times(Lane& lane, size_t count) {
  auto read = lane.program.queue->work_times({lane.times.work, count});
  if (!read) lose(lane, std::move(read.error()), {});
  // Two clocks agree but for some microseconds; nothing ran before it was handed over, or after the wait for it.
  const size_t launches = count - lane.program.ahead.size();
  const int64_t end = lane.times.operations[launches].done;
  for (size_t i = 0; read && i < count; ++i) {
    WorkTimes& work = lane.times.work[i];
    work.begin = std::clamp(work.begin, std::min(lane.times.operations[std::min(i, launches)].begin, end), end);
    work.done = std::clamp(work.done, work.begin, end);
  }
  return read.operator bool();
}

void Executor::enqueue(Lane& lane, const LaneLaunch& launch) {
  const LaneOperation& operation = lane.program.operations[launch.first];
  if (!launch.merged) return enqueue(lane, operation);
  lane.program.queue->launch(*launch.merged, lane.program.slots.data() + operation.first_slot, operation.scratch,
                             operation.guarded);
}

void Executor::hand_over(Lane& lane, const LaneLaunch& launch) {
  if (lost_.load(std::memory_order_relaxed)) return;
  const LaneOperation& first = lane.program.operations[launch.first];
  if ((first.commits && failed_.load(std::memory_order_relaxed)) || (first.ahead && ahead_.came)) return;
  enqueue(lane, launch);
}

void Executor::hand_over(Lane& lane, LaneSegment& segment) {
  if (lost_.load(std::memory_order_relaxed)) return;
  // On their first call, libraries may do more than can be recorded. And recorded work commits all or nothing.
  const bool leaves_out = segment.commits && failed_.load(std::memory_order_relaxed);
  const auto& given_up = lane.unrecordable;
  auto& work = segment.work[lane.program.second][phase_];
  if (segment.seen && !leaves_out && !work && std::find(given_up.begin(), given_up.end(), &segment) == given_up.end())
    record(lane, segment);
  if (segment.seen && !leaves_out && work) return lane.program.queue->replay(*work);
  for (uint32_t l = segment.first; l < segment.end; ++l) hand_over(lane, lane.program.launches[l]);
  segment.seen |= !leaves_out;
}

bool Executor::synchronize(Lane& lane) {
  auto finished = lane.program.queue->synchronize();
  if (!finished) lose(lane, std::move(finished.error()), {});
  return finished.operator bool();
}

void Executor::lose(Lane& lane, Error error, InstanceId instance) {
  const auto index = std::find_if(lanes_.begin(), lanes_.end(), [&](const auto& other) { return other.get() == &lane; });
  // A failure in its own work says more than one that it met while it waited for another's.
  if (lane.device_failure.error.diagnostics.empty() || !instance) {
    lane.device_failure = {std::move(error), LaneId(index - lanes_.begin()), instance};
  }
  lost_.store(true, std::memory_order_relaxed);
  failed_.store(true, std::memory_order_relaxed);
}

void Executor::enqueue_collective(int collective) {
  std::vector<std::thread> members;  // each waits for the others
  for (auto& lane : lanes_) {
    for (const LaneOperation& operation : lane->program.operations) {
      if (operation.collective == collective) members.emplace_back([this, &lane, &operation] { enqueue(*lane, operation); });
    }
  }
  for (std::thread& member : members) member.join();
}

std::vector<std::pair<LaneId, const LaneOperation*>> Executor::one_by_one() const {
  std::vector<std::pair<LaneId, const LaneOperation*>> order;
  IdVector<LaneId, size_t> done(lanes_.size(), 0);
  const auto next = [&](LaneId i) -> const LaneOperation* {
    const LaneProgram& program = lanes_[i]->program;
    return done[i] < program.operations.size() ? &program.operations[done[i]] : nullptr;
  };
  const auto is_ready = [&](LaneId i, const LaneOperation& operation) {
    const auto& waits = lanes_[i]->program.waits;
    return std::all_of(waits.begin() + operation.first_wait, waits.begin() + operation.end_wait, [&](const LaneWait& wait) {
      return static_cast<int64_t>(done[wait.lane]) >= static_cast<int64_t>(wait.position);
    });
  };
  const auto before = [](const LaneOperation& a, const LaneOperation& b) {
    return a.turn != b.turn ? a.turn < b.turn : a.instance < b.instance;
  };
  // All members of a collective come at once, when each has what it reads.
  std::map<int, std::vector<LaneId>> members;
  for (LaneId i : lanes_.ids())
    for (const LaneOperation& operation : lanes_[i]->program.operations)
      if (operation.collective >= 0) members[operation.collective].push_back(i);
  const auto can_start = [&](LaneId i, const LaneOperation& operation) {
    if (operation.collective < 0) return is_ready(i, operation);
    return std::ranges::all_of(members[operation.collective], [&](LaneId j) {
      const LaneOperation* member = next(j);
      return member && member->collective == operation.collective && is_ready(j, *member);
    });
  };
  for (;;) {
    const LaneOperation* first = nullptr;
    LaneId lane;
    for (LaneId i : lanes_.ids()) {
      const LaneOperation* operation = next(i);
      if (!operation || (first && before(*first, *operation)) || !can_start(i, *operation)) continue;
      first = operation;
      lane = i;
    }
    if (!first) return order;
    for (LaneId i : first->collective < 0 ? std::vector{lane} : members[first->collective]) {
      order.emplace_back(i, next(i));
      ++done[i];
    }
  }
}

Result<void> Executor::run_one_by_one(bool commit, const std::function<bool(LaneId, const LaneOperation&)>& look) {
  forget_failures();
  phase_ = 0;
  ends_.clear();
  for (auto& lane : lanes_) {
    if (!lane->program.operations.empty()) begin_run(*lane);
  }
  int collective = -1;  // launched last
  for (const auto& [i, operation] : one_by_one()) {
    if ((operation->commits && !commit) || operation->kind == LaneOperation::print) continue;
    Lane& lane = *lanes_[i];
    const TeamSize team(lane.program.threads);
    try {
      if (operation->collective < 0) {
        enqueue(lane, *operation);
      } else if (collective != operation->collective) {
        enqueue_collective(collective = operation->collective);
      }
    } catch (const std::exception& thrown) {  // of a world that has ended, among others
      note_exception(lane, *operation, thrown);
      return Error(std::string(lane.failure.why()));
    }
    if (!synchronize(lane)) return lane.device_failure.error;
    note_failure_of(lane, *operation, 0);
    if (!look(i, *operation)) break;
  }
  return {};
}

std::vector<const DeviceFailure*> Executor::device_failures() const {
  std::vector<const DeviceFailure*> failures;
  for (const auto& lane : lanes_) {
    if (!lane->device_failure.error.diagnostics.empty()) failures.push_back(&lane->device_failure);
  }
  return failures;
}

const DeviceFailure* Executor::device_failure() const {
  const DeviceFailure* first = nullptr;
  for (const DeviceFailure* failure : device_failures()) {
    if (!first || (first->instance && !failure->instance)) first = failure;
  }
  return first;
}

}  // namespace sheaf
