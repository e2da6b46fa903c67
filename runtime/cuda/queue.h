// Ordered work on a GPU: a stream for operations and one for copies from and to the host's memory.
#pragma once

#include "runtime/device/overlapping_runs.h"
#include "runtime/device/recorded_transfers.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/cuda/event.h"
#include "runtime/cuda/operation.h"
#include "runtime/cuda/queue_kernels.h"
#include "runtime/cuda/work_timer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sheaf::cuda {

/// The result of a CudaQueue's end_recording().
class CudaRecordedWork final : public RecordedWork {
 public:
  CudaRecordedWork(std::shared_ptr<BackendState> state, Graph graph, std::string what)
      : state_(std::move(state)), graph_(graph), what_(std::move(what)) {}
  ~CudaRecordedWork() override;
  Graph graph() const { return graph_; }
  /// A part of the graph's pinned memory, and where the host copies it from before each replay, or to after it.
  struct Fetched {
    char* pinned = nullptr;
    const void* const* sources = nullptr;
    std::span<const CopyPart> parts;
  };
  struct Delivered {
    const char* pinned = nullptr;
    void* const* target = nullptr;
    size_t bytes = 0;
  };
  std::vector<Fetched> fetched;
  std::vector<Delivered> delivered;
  const std::string& what() const { return what_; }  ///< "12 recorded operations, from A to B"

 private:
  std::shared_ptr<BackendState> state_;
  Graph graph_;
  std::string what_;
};

class CudaQueue final : public Queue, public RecordsTransfers, public OverlapsRuns {
 public:
  /// `name`: the device's ("cuda:0"). `deadline`: of waits for it.
  static Result<std::unique_ptr<CudaQueue>> open(std::shared_ptr<BackendState> state, int device, const std::string& name,
                                                 std::shared_ptr<const QueueKernels> kernels, Seconds deadline);
  /// Waits for the work, at most for the deadline, and leaves to the process whatever a lost device might still use.
  ~CudaQueue() override;

  void begin_run() override { begin_run(RunBegin()); }
  void begin_run(const RunBegin& begin) override;
  void launch(Executable& executable, void* const* buffers, void* scratch, bool guarded) override;
  void copy(void* target, const void* source, const CopyShape& shape, bool guarded) override;
  void copy_ahead(void* target, const void* source, const CopyShape& shape) override;
  void fetch(void* target, const void* const* sources, std::span<const CopyPart> parts) override;
  void record(Event& event) override;
  Result<void> wait(Event& event) override;
  Result<void> synchronize() override;
  void end_run(Event& end) override;
  Result<void> finish_run() override;
  bool disturbed() const override { return state_->alarmed(); }
  bool records() const override { return true; }
  Result<void> begin_recording() override;
  void deliver(void* const* target, const void* source, size_t bytes) override;
  Result<std::unique_ptr<RecordedWork>> end_recording() override;
  void replay(RecordedWork& work) override;
  bool times_work() const override { return true; }
  void begin_timed() override;
  void end_timed() override;
  Result<void> work_times(std::span<WorkTimes> times) override;

 private:
  struct Range {
    uintptr_t begin = 0, end = 0;
    bool writes = false;
  };

  CudaQueue(std::shared_ptr<BackendState> state, int device, const std::string& name,
            std::shared_ptr<const QueueKernels> kernels, Seconds deadline)
      : state_(std::move(state)),
        driver_(state_->driver()),
        device_(device),
        copy_threads_(std::clamp(available_cpus() / std::max(1, driver_.devices()), 1, 8)),
        name_(name),
        run_range_("run on " + name),
        kernels_(std::move(kernels)),
        deadline_(deadline),
        progress_(driver_, name),
        timer_(*state_, device) {}
  Result<void> open();
  Result<void> lower_flag();
  /// The copy stream waits for the run that the present one follows, once.
  Result<void> follow_last_run();
  void end_range();

  /// Keeps the first failure. While recording it only ends the recording. `what`: the attempted work.
  void fail(Error error, std::string_view what);
  /// Takes no more work, and ensures that the other queues neither wait for it nor use data that it didn't make.
  void stop(Error error);
  void keep(const Result<void>& done, std::string_view what) {
    if (!done) fail(done.error(), what);
  }

  // The order between the two streams.
  /// The compute stream waits for the copies that touch `range`, or for all.
  Result<void> join(const Range& range);
  Result<void> join_all();
  Result<void> join_until(const PinnedRing::Piece* fetch, const PinnedRing::Piece* result);
  /// The copy stream waits for the compute stream's work so far.
  Result<void> follow_compute();

  Result<void> enqueue(Operation& operation, void* const* buffers, void* scratch, bool guarded);
  Result<void> copy_on_devices(void* target, int target_device, const void* source, int source_device, const CopyShape& shape,
                               bool guarded);
  /// All of it, by the caller.
  bool pinned(const void* memory, size_t bytes);
  /// `ahead`: no work of this run touches the target.
  Result<void> copy_from_host(void* target, const void* source, const CopyShape& shape, bool ahead = false);
  Result<void> copy_to_host(void* target, const void* source, const CopyShape& shape);
  Result<void> fetch_staged(void* target, const void* const* sources, std::span<const CopyPart> parts, size_t bytes);
  // Copies from and to the host's memory in a recording (recorded_transfers.cpp).
  Result<void> record_fetch(void* target, const void* const* sources, std::span<const CopyPart> parts, size_t bytes);
  Result<void> record_delivery(void* const* target, const void* source, size_t bytes);
  Result<void> open_transfers();
  /// Puts the copy of pinned memory, which it takes, into the recording; returns that memory.
  Result<char*> record_copy(size_t bytes, const std::function<Result<void>(char* pinned)>& copy);
  void fill_in(const CudaRecordedWork& work);
  void take_deliveries(int phase);
  /// Call before copies of `bytes` in total between the host's memory and `range` of the device's: the stream to use.
  Result<Stream> stream_for_copies(size_t bytes, const Range& range);
  /// Puts the copy of a piece, one end of which is the host's, into `stream`.
  Result<void> put(Stream stream, PinnedRing::Piece& piece, void* target, int target_device, const void* source,
                   int source_device, const CopyShape& shape);
  Result<void> copy_on_host(void* target, const void* source, const CopyShape& shape);
  Result<void> drain();
  void watch(const Operation& operation, void* const* buffers, void* scratch, bool guarded);

  std::shared_ptr<BackendState> state_;
  Driver& driver_;
  int device_;
  int copy_threads_;  ///< that copy a large piece of the caller's memory: one thread is slower than the device fetches
  std::string name_, run_range_;
  std::shared_ptr<const QueueKernels> kernels_;
  Stream compute_ = nullptr, copies_ = nullptr, alarm_ = nullptr;
  DriverEvent computed_ = nullptr;  ///< where the copy stream waits for the compute stream
  int32_t* flag_ = nullptr;         ///< in the device's memory
  std::shared_ptr<PinnedRing> fetches_, results_;
  Seconds deadline_;
  Progress progress_;
  WorkTimer timer_;

  uint64_t pieces_ = 0;         ///< put into the copy stream
  uint64_t joined_ = 0;         ///< of them, those that the compute stream waits for
  bool compute_ahead_ = false;  ///< the compute stream has work that the copy stream doesn't wait for
  bool copying_ = false;        ///< the copy stream has work that isn't known to be done
  bool pending_ = false;        ///< anything was put into a stream since everything was known to be done
  Failure failure_;
  bool drained_ = false;  ///< after the failure the streams were waited for

  bool in_range_ = false;                 ///< of a run, for profilers
  Patience::Clock::duration last_run_{};  ///< how long the run before took

  bool recording_ = false;
  Error recording_error_;
  size_t recorded_ = 0;
  std::string first_recorded_, last_recorded_;
  std::vector<Access> accesses_;  ///< for a driver that watches
  char* transfers_ = nullptr;     ///< pinned memory of the recordings' copies
  size_t transfers_used_ = 0;
  std::vector<CudaRecordedWork::Fetched> recorded_fetches_;  ///< of the present recording
  std::vector<CudaRecordedWork::Delivered> recorded_deliveries_;
  struct Delivery {
    const char* pinned = nullptr;
    void* target = nullptr;
    size_t bytes = 0;
  };
  struct Run {
    std::optional<Patience::Clock::time_point> begun;  ///< its work isn't known to be done
    CudaEvent* end = nullptr;                          ///< of a run under way
    std::vector<Delivery> arriving;                    ///< of replays; to be copied out once the work is done
    size_t most_arriving = 0;                          ///< if each recording of this phase is replayed once
  };
  std::array<Run, 2> runs_;  ///< by phase
  int phase_ = 0;            ///< of the newest run
  Run& run() { return runs_[static_cast<size_t>(phase_)]; }
  Run& other_run() { return runs_[static_cast<size_t>(1 - phase_)]; }
  Patience::Expected expected_end(const Run& run) const;
  void end_of(Run& run);              ///< its work is done
  std::vector<CudaEvent*> followed_;  ///< ends of the run before, which copies ahead are yet to wait for
};

}  // namespace sheaf::cuda
