#include "runtime/lanes/executor.h"

#include "runtime/cpu/thread_pool.h"
#include "runtime/lanes/tick_clock.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
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

Executor::Executor(std::vector<LaneProgram> programs, int cores) {
  for (LaneProgram& program : programs) {
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->program = std::move(program);
  }
  std::vector<Lane*> busy;
  for (auto& lane : lanes_) {
    if (!lane->program.operations.empty()) busy.push_back(lane.get());
  }
  if (busy.empty()) return;
  // The caller's thread takes the host's lane, or, where that has nothing to do, the first one that has.
  caller_lane_ = busy[0];
  worker_lanes_.assign(busy.begin() + 1, busy.end());
  // Spinning pays only while every busy lane has a core to itself, and not for long: on a busy machine the thread
  // waited for may be the one that is kept off the core.
  spins_ = static_cast<int>(busy.size()) <= cores ? 200 : 20;
  workers_.reserve(worker_lanes_.size());
  try {
    for (Lane* lane : worker_lanes_) workers_.emplace_back([this, lane] { work(*lane); });
  } catch (const std::system_error&) {
    // ready() says so
  }
}

Executor::~Executor() {
  stop_.store(true, std::memory_order_relaxed);
  for (Lane* lane : worker_lanes_) {  // those without a thread don't mind
    lane->started.fetch_add(1, std::memory_order_release);
    lane->started.notify_one();
  }
  for (std::thread& worker : workers_) worker.join();
}

/// `value` has come as far as `target`; numbers may wrap around after 2^32 runs.
bool Executor::reached(int32_t value, int32_t target) {
  return static_cast<int32_t>(static_cast<uint32_t>(value) - static_cast<uint32_t>(target)) >= 0;
}

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
    lane.finished.store(number, std::memory_order_release);
    lane.finished.notify_one();
  }
}

bool Executor::run(const PrintSink* sink, std::span<OperationTimes* const> times) {
  sink_ = sink && *sink ? sink : nullptr;
  for (size_t i = 0; i < lanes_.size(); ++i) lanes_[i]->times = times.empty() ? nullptr : times[i];
  failed_.store(false, std::memory_order_relaxed);
  if (worker_lanes_.empty()) {
    if (caller_lane_) execute(*caller_lane_);
    return !failed_.load(std::memory_order_relaxed);
  }
  run_number_ = next(run_number_);
  for (auto& lane : lanes_) lane->progress.store(0, std::memory_order_relaxed);
  for (Lane* lane : worker_lanes_) {
    lane->started.store(run_number_, std::memory_order_release);
    lane->started.notify_one();
  }
  execute(*caller_lane_);
  for (Lane* lane : worker_lanes_) wait_for(lane->finished, run_number_);
  return !failed_.load(std::memory_order_relaxed);
}

void Executor::execute(Lane& lane) { lane.times ? execute<true>(lane) : execute<false>(lane); }

template <bool timed>
void Executor::execute(Lane& lane) {
  LaneProgram& program = lane.program;
  const TeamSize team(program.threads);
  lane.failure.failed = false;
  lane.device_error.diagnostics.clear();
  Queue& queue = *program.queue;
  OperationTimes* times = lane.times;
  int64_t ready = timed ? ticks() : 0;
  for (const LaneOperation& operation : program.operations) {
    for (uint32_t i = operation.first_wait; i < operation.end_wait; ++i) {
      const LaneWait& wait = program.waits[i];
      wait_for(lanes_[static_cast<size_t>(wait.lane)]->progress, wait.position);
      if (wait.event) queue.wait(*wait.event);
    }
    const int64_t begin = timed && operation.first_wait != operation.end_wait ? ticks() : ready;
    // Whoever decides about it was waited for: what it found is seen here.
    const bool runs = !operation.commits || !failed_.load(std::memory_order_relaxed);
    if (runs) enqueue(lane, operation);
    if (timed) {
      const int64_t done = runs ? ticks() : begin;
      *times++ = {ready, begin, done};
      ready = done;
    }
    if (operation.signal) {
      if (operation.event) queue.record(*operation.event);
      lane.progress.store(operation.signal, std::memory_order_release);
      lane.progress.notify_all();
    }
  }
  if (timed) *times = {ready, ready, ready};
  if (!program.asynchronous) return;
  const bool finished = synchronize(lane);
  if (timed) times->done = ticks();
  if (!finished) return;
  for (const LaneOperation& operation : program.operations) {  // only now is it known
    if (operation.can_fail && operation.executable->failed()) note_failure(lane, operation);
  }
}

bool Executor::synchronize(Lane& lane) {
  auto finished = lane.program.queue->synchronize();
  if (finished) return true;
  lane.device_error = std::move(finished.error());
  failed_.store(true, std::memory_order_relaxed);
  return false;
}

void Executor::enqueue(Lane& lane, const LaneOperation& operation) {
  LaneProgram& program = lane.program;
  void** slots = program.slots.data() + operation.first_slot;
  switch (operation.kind) {
    case LaneOperation::launch:
      program.queue->launch(*operation.executable, slots, operation.scratch);
      if (!operation.can_fail) return;
      if (program.asynchronous) {
        if (!operation.decides || !synchronize(lane)) return;
      }
      if (operation.executable->failed()) note_failure(lane, operation);
      return;
    case LaneOperation::copy:
      program.queue->copy(slots[0], slots[1], operation.copy_shape);
      return;
    case LaneOperation::print:
      print(*operation.text);
      return;
  }
}

Result<void> Executor::run_one_by_one(bool commit, const std::function<bool(size_t, const LaneOperation&)>& look) {
  std::vector<std::pair<size_t, const LaneOperation*>> order;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    for (const LaneOperation& operation : lanes_[i]->program.operations) order.emplace_back(i, &operation);
  }
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second->instance < b.second->instance; });
  for (const auto& [i, operation] : order) {
    if ((operation->commits && !commit) || operation->kind == LaneOperation::print) continue;
    Lane& lane = *lanes_[i];
    const TeamSize team(lane.program.threads);
    enqueue(lane, *operation);
    if (!synchronize(lane)) return lane.device_error;
    if (!look(i, *operation)) break;
  }
  return {};
}

void Executor::print(std::string_view line) {
  const std::lock_guard lock(print_mutex());
  if (sink_) {
    (*sink_)(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}

void Executor::note_failure(Lane& lane, const LaneOperation& operation) {
  // The lane goes on: what follows computes on unspecified but valid memory, and no other lane waits in vain.
  LaneFailure failure{true, operation.replica, operation.instance, operation.executable->failure()};
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

const Error* Executor::device_error() const {
  for (const auto& lane : lanes_) {
    if (!lane->device_error.diagnostics.empty()) return &lane->device_error;
  }
  return nullptr;
}

}  // namespace sheaf
