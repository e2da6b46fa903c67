#include "runtime/cuda/queue.h"

#include <utility>

namespace sheaf::cuda {
namespace {

// Of a queue, in each direction. Large enough that the host's copying into one quarter hides the device's fetching of
// another, and small copies (a loss, a learning rate) never wait for each other.
constexpr size_t kFetchBytes = size_t{16} << 20, kResultBytes = size_t{8} << 20;
constexpr size_t kPieces = 64;

}  // namespace

CudaRecordedWork::~CudaRecordedWork() {
  if (!state_->lost()) state_->driver().destroy(graph_);
}

Result<std::unique_ptr<CudaQueue>> CudaQueue::open(std::shared_ptr<BackendState> state, int device, const std::string& name,
                                                   std::shared_ptr<const QueueKernels> kernels, Seconds deadline) {
  std::unique_ptr<CudaQueue> queue(new CudaQueue(std::move(state), device, name, std::move(kernels), deadline));
  SHEAF_TRY(queue->open());
  return queue;
}

Result<void> CudaQueue::open() {
  for (Stream* stream : {&compute_, &copies_, &alarm_}) {
    SHEAF_ASSIGN(auto made, driver_.make_stream(device_));
    *stream = made;
  }
  SHEAF_ASSIGN(computed_, driver_.make_event(device_));
  SHEAF_ASSIGN(auto flag, driver_.allocate(device_, sizeof(int32_t)));
  flag_ = static_cast<int32_t*>(flag);
  for (auto [ring, bytes] : {std::pair(&fetches_, kFetchBytes), std::pair(&results_, kResultBytes)}) {
    SHEAF_ASSIGN(auto opened, PinnedRing::open(state_, device_, bytes, kPieces, deadline_));
    *ring = std::move(opened);
  }
  SHEAF_TRY(progress_.open(device_));
  state_->watch(&progress_, results_, {flag_, alarm_});
  return lower_flag();  // it is 0 also for those who never begin a run
}

Result<void> CudaQueue::lower_flag() {
  pending_ = compute_ahead_ = true;
  return driver_.fill(compute_, flag_, 0, sizeof(int32_t));
}

void CudaQueue::end_range() {
  if (std::exchange(in_range_, false)) driver_.pop_range();
}

CudaQueue::~CudaQueue() {
  if (pending_ && !drained_) (void)drain();
  if (results_) state_->forget(&progress_);
  for (Stream stream : {compute_, copies_, alarm_}) {
    if (stream) driver_.destroy(stream);
  }
  if (computed_) driver_.destroy(computed_);
  if (flag_ && !state_->lost()) driver_.release(device_, flag_);
  if (transfers_ && !state_->lost()) driver_.release_pinned(transfers_);
}

void CudaQueue::fail(Error error, std::string_view what) {
  error.diagnostics.front().message = name_ + ": " + std::string(what) + ": " + error.diagnostics.front().message;
  if (recording_) {
    if (recording_error_.diagnostics.empty()) recording_error_ = std::move(error);
  } else if (!failure_) {
    stop(std::move(error));
  }
}

void CudaQueue::stop(Error error) {
  failure_ = std::make_shared<const Error>(std::move(error));
  const Failure first = state_->stop(&progress_, failure_);
  if (first == failure_) return;
  Error both = *first;
  failure_ = std::make_shared<const Error>(both.note("then " + failure_->message()));
}

void CudaQueue::begin_run(const RunBegin& begin) {
  end_range();
  timer_.restart();
  phase_ = begin.phase;
  followed_.clear();
  run().arriving.clear();  // of a run that failed
  if (failure_) return;
  run().begun = Patience::Clock::now();
  driver_.push_range(run_range_);
  in_range_ = true;
  if (begin.clears) keep(lower_flag(), "beginning of a run");
  for (Event* end : begin.after) {
    auto* point = dynamic_cast<CudaEvent*>(end);
    if (!failure_ && point != other_run().end) keep(wait(*end), "waiting for another queue");
    if (!failure_ && point) followed_.push_back(point);
  }
}

Result<void> CudaQueue::follow_last_run() {
  for (const CudaEvent* end : followed_) {
    SHEAF_TRY(driver_.wait(copies_, end->computed));
    if (end->copies) SHEAF_TRY(driver_.wait(copies_, end->copied));
  }
  followed_.clear();
  return {};
}

void CudaQueue::end_run(Event& end) {
  end_range();
  record(end);
  run().end = static_cast<CudaEvent*>(&end);  // this device's own
}

void CudaQueue::begin_timed() {
  if (!failure_) keep(timer_.begin(compute_), "a timed event");
}

void CudaQueue::end_timed() {
  if (!failure_) keep(timer_.end(), "a timed event");
}

Result<void> CudaQueue::work_times(std::span<WorkTimes> times) {
  if (failure_) return *failure_;
  auto read = timer_.read(compute_, deadline_, times);
  if (!read) keep(read, "a timed event");
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

void CudaQueue::launch(Executable& executable, void* const* buffers, void* scratch, bool guarded) {
  auto& operation = static_cast<Operation&>(executable);  // the device's own
  if (failure_ || !recording_error_.diagnostics.empty()) return;
  driver_.push_range(operation.what);
  keep(enqueue(operation, buffers, scratch, guarded), operation.what);
  driver_.pop_range();
}

Result<void> CudaQueue::enqueue(Operation& operation, void* const* buffers, void* scratch, bool guarded) {
  if (joined_ != pieces_) {
    for (size_t i = 0; i < operation.operands.size(); ++i) {
      const auto begin = reinterpret_cast<uintptr_t>(buffers[i]);
      SHEAF_TRY(join({begin, begin + operation.operands[i].bytes, operation.operands[i].writes}));
    }
    const auto begin = reinterpret_cast<uintptr_t>(scratch);
    SHEAF_TRY(join({begin, begin + operation.scratch_bytes, true}));
  }
  if (driver_.watches()) watch(operation, buffers, scratch, guarded);
  pending_ = compute_ahead_ = true;
  SHEAF_TRY(operation.enqueue({compute_, buffers, scratch, guarded ? flag_ : nullptr, flag_, deadline_, recording_, phase_}));
  if (!recording_) {
    progress_.enqueued(operation.what, compute_);
    return {};
  }
  if (recorded_++ == 0) first_recorded_ = operation.what;
  last_recorded_ = operation.what;
  return {};
}

void CudaQueue::watch(const Operation& operation, void* const* buffers, void* scratch, bool guarded) {
  accesses_.clear();
  for (size_t i = 0; i < operation.operands.size(); ++i) {
    if (operation.operands[i].bytes == 0) continue;
    accesses_.push_back({buffers[i], operation.operands[i].bytes, operation.operands[i].writes, operation.operand_alignment});
  }
  if (operation.scratch_bytes > 0) accesses_.push_back({scratch, operation.scratch_bytes, true, kAlignment});
  if (guarded) accesses_.push_back({flag_, sizeof(int32_t), false});
  accesses_.push_back({flag_, sizeof(int32_t), true});
  accesses_.insert(accesses_.end(), operation.own.begin(), operation.own.end());
  driver_.watch(compute_, accesses_, operation.what);
}

void CudaQueue::record(Event& event) {
  auto* point = dynamic_cast<CudaEvent*>(&event);
  if (!point || &point->state() != state_.get()) return fail(Error("the event belongs to another kind of device"), "an event");
  point->failure = failure_;
  if (failure_) return;
  point->copies = joined_ != pieces_;
  point->results = results_;
  point->results_until = pieces_;
  point->deadline = deadline_;
  if (recording_) return fail(Error("events cannot be recorded"), "an event");
  keep(driver_.record(point->computed, compute_), "an event");
  if (point->copies) keep(driver_.record(point->copied, copies_), "an event");
  point->failure = failure_;
}

Result<void> CudaQueue::wait(Event& event) {
  if (failure_) return *failure_;
  auto* point = dynamic_cast<CudaEvent*>(&event);
  if (!point || &point->state() != state_.get()) return event.synchronize();
  if (recording_) {
    fail(Error("waits cannot be recorded"), "an event");
    return {};
  }
  if (point->failure) {  // what it would go on with isn't there; nothing shall be made of it, a variable least of all
    failure_ = point->failure;
    return *failure_;
  }
  pending_ = compute_ahead_ = true;
  keep(driver_.wait(compute_, point->computed), "waiting for another queue");
  if (point->copies) keep(driver_.wait(compute_, point->copied), "waiting for another queue");
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

Result<void> CudaQueue::drain() {
  drained_ = failure_ != nullptr;
  const auto is_done = [&]() -> Result<bool> {
    auto done = driver_.done(compute_);
    if (!done || !*done || !copying_) return done;
    return driver_.done(copies_);
  };
  SHEAF_TRY(wait_until(*state_, deadline_, is_done, expected_end(run())));
  end_of(run());
  other_run().begun.reset();
  fetches_->finish(pieces_);
  {
    const TeamSize team(copy_threads_);
    results_->finish(pieces_);
  }
  take_deliveries(1 - phase_);
  take_deliveries(phase_);
  for (Run& run : runs_) run.end = nullptr;
  followed_.clear();
  progress_.finished();
  joined_ = pieces_;
  pending_ = compute_ahead_ = copying_ = false;
  return {};
}

Result<void> CudaQueue::synchronize() {
  end_range();
  if (failure_) {
    // The caller may free what was put in before the failure once this returns.
    if (!drained_ && pending_) (void)drain();
    return *failure_;
  }
  if (recording_) return Error(name_ + ": a queue that records has nothing to wait for");
  if (!pending_) return {};
  auto done = drain();
  if (done) return {};
  stop(std::move(done.error()));
  (void)drain();  // where it was but the question that failed, the work still goes on with the caller's memory
  drained_ = true;
  return *failure_;
}

Result<void> CudaQueue::finish_run() {
  if (failure_ || !run().end || !other_run().end) return synchronize();
  const CudaEvent& end = *other_run().end;
  const auto is_done = [&]() -> Result<bool> {
    auto done = driver_.done(end.computed);
    return done && *done && end.copies ? driver_.done(end.copied) : done;
  };
  if (auto done = wait_until(*state_, deadline_, is_done, expected_end(other_run())); !done) {
    stop(std::move(done.error()));
    return synchronize();
  }
  end_of(other_run());
  run().begun = Patience::Clock::now();  // on the device
  fetches_->finish(end.results_until);
  {
    const TeamSize team(copy_threads_);
    results_->finish(end.results_until);
  }
  take_deliveries(1 - phase_);
  other_run().end = nullptr;
  return {};
}

Patience::Expected CudaQueue::expected_end(const Run& run) const {
  return run.begun && last_run_.count() > 0 ? Patience::Expected::of(*run.begun, last_run_) : Patience::Expected();
}

void CudaQueue::end_of(Run& run) {
  if (run.begun) last_run_ = Patience::Clock::now() - *run.begun;
  run.begun.reset();
}

Result<void> CudaQueue::begin_recording() {
  if (failure_) return *failure_;
  if (recording_) return Error(name_ + ": this queue records already");
  // What is noted down must not depend on copies outside of it.
  SHEAF_TRY(join_all());
  SHEAF_TRY(open_transfers());
  if (auto begun = driver_.begin_capture(compute_); !begun) {
    begun.error().diagnostics.front().message = name_ + ": " + begun.error().message();
    return begun;
  }
  recording_ = true;
  recording_error_.diagnostics.clear();
  recorded_ = 0;
  recorded_fetches_.clear();
  recorded_deliveries_.clear();
  return {};
}

Result<std::unique_ptr<RecordedWork>> CudaQueue::end_recording() {
  if (!recording_) return Error(name_ + ": this queue does not record");
  auto graph = driver_.end_capture(compute_);
  recording_ = false;
  if (!recording_error_.diagnostics.empty()) {
    if (graph) driver_.destroy(*graph);
    Error error = std::move(recording_error_);
    recording_error_.diagnostics.clear();
    return error;
  }
  const std::string what =
      recorded_ == 1 ? first_recorded_
                     : std::to_string(recorded_) + " recorded operations, from " + first_recorded_ + " to " + last_recorded_;
  if (!graph) {
    Error error = graph.error();
    error.diagnostics.front().message = name_ + ": " + what + ": " + error.diagnostics.front().message;
    return error;
  }
  auto work = std::make_unique<CudaRecordedWork>(state_, *graph, what);
  work->fetched = std::move(recorded_fetches_);
  work->delivered = std::move(recorded_deliveries_);
  run().most_arriving += work->delivered.size();
  run().arriving.reserve(run().most_arriving);
  return std::unique_ptr<RecordedWork>(std::move(work));
}

void CudaQueue::replay(RecordedWork& work) {
  auto& recorded = static_cast<CudaRecordedWork&>(work);
  if (failure_) return;
  keep(join_all(), recorded.what());
  if (failure_) return;
  fill_in(recorded);
  pending_ = compute_ahead_ = true;
  driver_.push_range(recorded.what());
  keep(driver_.launch(compute_, recorded.graph()), recorded.what());
  driver_.pop_range();
  progress_.enqueued(recorded.what(), compute_);
}

}  // namespace sheaf::cuda
