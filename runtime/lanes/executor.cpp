#include "runtime/lanes/executor.h"

#include "runtime/machine/thread_pool.h"
#include "runtime/machine/blocked_signals.h"
#include "runtime/machine/tick_clock.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>

namespace sheaf {
namespace {

/// Serialises printed lines of all bindings in the process: stdout is one.
std::mutex& print_mutex() {
  static std::mutex mutex;
  return mutex;
}

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Order in which failures are reported: replicas by number, then steps outside regions.
bool before(const LaneFailure& a, const LaneFailure& b) {
  const auto rank = [](int replica) { return static_cast<unsigned>(replica); };  // -1 is the largest
  return rank(a.replica) != rank(b.replica) ? rank(a.replica) < rank(b.replica) : a.instance < b.instance;
}

}  // namespace

Executor::Executor(IdVector<LaneId, LaneProgram> programs, int cores) {
  for (LaneProgram& program : programs) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->program = std::move(program);
  }
  std::vector<Lane*> busy;
  for (auto& lane : lanes_) {
    if (!lane->program.operations.empty()) busy.push_back(lane.get());
  }
  if (busy.empty()) return;
  for (Lane* lane : busy) unloaded_ |= lane->program.loads_first;
  // The caller's thread takes the host's lane, or, if that has nothing to do, the first one that has.
  caller_lane_ = busy[0];
  worker_lanes_.assign(busy.begin() + 1, busy.end());
  ends_.reserve(busy.size());
  may_overlap_ = std::ranges::all_of(busy, [](const Lane* lane) { return lane->program.ends[0] != nullptr; });
  // Spinning pays only while every busy lane has a core to itself, and not for long: on a busy machine the thread waited for
  // may be the one kept off the core.
  spins_ = static_cast<int>(busy.size()) <= cores ? 200 : 20;
  workers_.reserve(worker_lanes_.size());
  const BlockedSignals signals;
  try {
    for (Lane* lane : worker_lanes_) workers_.emplace_back([this, lane] { work(*lane); });
  } catch (const std::exception&) {  // no thread, or no memory for one
    // ready() says so
  }
}

Executor::~Executor() {
  stop_.store(true, std::memory_order_relaxed);
  for (Lane* lane : worker_lanes_) {  // harmless for those without a thread
    lane->started.fetch_add(1, std::memory_order_release);
    lane->started.notify_one();
  }
  for (std::thread& worker : workers_) worker.join();
}

/// `value` has come as far as `target`; numbers may wrap around after 2^32 runs.
bool Executor::reached(int32_t value, int32_t target) {
  return static_cast<int32_t>(static_cast<uint32_t>(value) - static_cast<uint32_t>(target)) >= 0;
}

// Progress that a lane waits for is stored sequentially consistently: notify checks whether anybody sleeps, and if it overtook
// the store, a lane that had just seen the old number would stay asleep.
void Executor::wait_for(const std::atomic<int32_t>& value, int32_t target) const {
  for (int i = 0; i < spins_; ++i) {
    if (reached(value.load(std::memory_order_acquire), target)) return;
    pause_cpu();
  }
  for (int32_t seen = value.load(std::memory_order_acquire); !reached(seen, target);
       seen = value.load(std::memory_order_acquire)) {
    value.wait(seen, std::memory_order_acquire);
  }
}

void Executor::work(Lane& lane) {
  for (int32_t number = 1;; number = next(number)) {
    wait_for(lane.started, number);
    if (stop_.load(std::memory_order_relaxed)) return;
    execute(lane);
    lane.finished.store(number);
    lane.finished.notify_one();
  }
}

bool Executor::load_all() {
  if (!run_one_by_one(false, [](LaneId, const LaneOperation&) { return true; })) return false;
  unloaded_ = false;
  return true;
}

bool Executor::run(const PrintSink* sink, std::span<const LaneTimes> times, RunPart part, const Ahead& ahead) {
  if (unloaded_ && part == RunPart::whole && !load_all()) return false;
  prepare(sink, ahead);
  for (LaneId id : lanes_.ids()) {
    Lane& lane = *lanes_[id];
    lane.times = id.index() < times.size() ? times[id.index()] : LaneTimes{};
    lane.begin = part == RunPart::second ? lane.program.first_part : 0;
    lane.end = part == RunPart::first ? lane.program.first_part : static_cast<uint32_t>(lane.program.operations.size());
  }
  execute_all(part != RunPart::second);
  return !failed_.load(std::memory_order_relaxed);
}

void Executor::execute_all(bool from_start) {
  if (worker_lanes_.empty()) {
    if (caller_lane_) execute(*caller_lane_);
    return;
  }
  run_number_ = next(run_number_);
  if (from_start)
    for (auto& lane : lanes_) lane->progress.store(0, std::memory_order_relaxed);
  for (Lane* lane : worker_lanes_) {
    lane->started.store(run_number_);
    lane->started.notify_one();
  }
  execute(*caller_lane_);
  for (Lane* lane : worker_lanes_) wait_for(lane->finished, run_number_);
}

void Executor::execute(Lane& lane) {
  if (lane.program.asynchronous) {
    lane.times.operations ? hand_over<true>(lane) : hand_over<false>(lane);
  } else {
    lane.times.operations ? execute<true>(lane) : execute<false>(lane);
  }
}

template <bool timed>
void Executor::execute(Lane& lane) {
  LaneProgram& program = lane.program;
  const TeamSize team(program.threads);
  OperationTimes* times = lane.times.operations;
  int64_t ready = timed ? ticks() : 0;
  for (uint32_t i = lane.begin; i < lane.end; ++i) {
    const LaneOperation& operation = program.operations[i];
    wait(lane, operation);
    const int64_t begin = timed && operation.first_wait != operation.end_wait ? ticks() : ready;
    // The deciding operation was waited for, so its finding is visible here.
    const bool runs = !operation.commits || !failed_.load(std::memory_order_relaxed);
    if (runs) {
      try {
        enqueue(lane, operation);
        if (operation.can_fail && operation.executable->failed(phase_))
          note_failure(lane, operation, operation.executable->failure(phase_));
      } catch (const std::exception& thrown) {
        note_exception(lane, operation, thrown);
      }
    }
    if (timed) {
      const int64_t done = runs ? ticks() : begin;
      *times++ = {ready, begin, done};
      ready = done;
    }
    signal(lane, operation);
  }
  if (timed) *times = {ready, ready, ready};
}

void Executor::wait(Lane& lane, const LaneOperation& operation) {
  for (uint32_t i = operation.first_wait; i < operation.end_wait; ++i) {
    const LaneWait& wait = lane.program.waits[i];
    wait_for(lanes_[wait.lane]->progress, wait.position);
    // A lane records no event once a device is lost; the loss was known before the lane published its progress.
    if (!wait.event || lost_.load(std::memory_order_relaxed)) continue;
    auto waited = wait.decider ? wait.event->synchronize() : lane.program.queue->wait(*wait.event);
    if (!waited) {
      lose(lane, std::move(waited.error()), operation.instance);
    } else if (wait.decider && wait.decider->failed(phase_)) {
      failed_.store(true, std::memory_order_relaxed);  // its own lane says why
    }
  }
}

void Executor::signal(Lane& lane, const LaneOperation& operation) {
  if (!operation.signal) return;
  if (operation.event && !lost_.load(std::memory_order_relaxed)) lane.program.queue->record(*operation.event);
  lane.progress.store(operation.signal);
  lane.progress.notify_all();
}

void Executor::enqueue(Lane& lane, const LaneOperation& operation) {
  LaneProgram& program = lane.program;
  void** slots = program.slots.data() + operation.first_slot;
  switch (operation.kind) {
    case LaneOperation::launch:
      if (operation.can_fail) operation.executable->tell(failed_.load(std::memory_order_relaxed));
      program.queue->launch(*operation.executable, slots, operation.scratch, operation.guarded);
      return;
    case LaneOperation::copy:
      if (operation.delivers && program.transfers) {
        program.transfers->deliver(slots, slots[1], operation.copy_shape.rows * operation.copy_shape.row_bytes);
      } else {
        program.queue->copy(slots[0], slots[1], operation.copy_shape, operation.guarded);
      }
      return;
    case LaneOperation::fetch:
      program.queue->fetch(slots[0], slots + 1,
                           {program.parts.data() + operation.first_part, program.parts.data() + operation.end_part});
      return;
    case LaneOperation::print: print(*operation.text); return;
  }
}

void Executor::print(std::string_view line) {
  const std::lock_guard lock(print_mutex());
  if (sink_) {
    (*sink_)(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}

void Executor::note_exception(Lane& lane, const LaneOperation& operation, const std::exception& thrown) {
  std::string reason;  // empty: no memory
  try {
    if (!dynamic_cast<const std::bad_alloc*>(&thrown)) reason = thrown.what();
  } catch (const std::bad_alloc&) {
    // not even for a reason
  }
  note_failure(lane, operation, std::move(reason));
}

void Executor::note_failure(Lane& lane, const LaneOperation& operation, std::string reason) {
  // The lane goes on: what follows computes on unspecified but valid memory, and no other lane waits in vain.
  LaneFailure failure{true, operation.replica, operation.instance, std::move(reason)};
  if (!lane.failure.failed || before(failure, lane.failure)) lane.failure = std::move(failure);
  failed_.store(true, std::memory_order_relaxed);
}

const LaneFailure* Executor::failure() const {
  const LaneFailure* first = nullptr;
  for (const auto& lane : lanes_) {
    if (lane->failure.failed && (!first || before(lane->failure, *first))) first = &lane->failure;
  }
  return first;
}

}  // namespace sheaf
