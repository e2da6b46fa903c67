// Runs lane programs: the host's (or, if that has no work, the first that has) on the caller's thread, each other on its
// own thread. If only one lane has work, there is no synchronisation. Once a device has failed, no lane launches anything more,
// but all go through their programs to the end, so nobody waits in vain.
#pragma once

#include "runtime/base/exception.h"
#include "runtime/lanes/lane_program.h"

#include <atomic>
#include <functional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

namespace sheaf {

/// Takes one printed line, newline included. Called from lane threads, one at a time.
using PrintSink = std::function<void(std::string_view line)>;

/// The part of a run to do: all of it, or one of its two parts; the second comes after the first.
enum class RunPart { whole, first, second };

/// The first failed operation of a lane in a run.
struct LaneFailure {
  bool failed = false;
  int replica = -1;
  InstanceId instance;
  std::string reason;  ///< empty: out of memory
  /// The reason in words.
  std::string_view why() const { return reason.empty() ? std::string_view(kNoMemory) : reason; }
};

/// The error of a lane's device.
struct DeviceFailure {
  Error error;
  LaneId lane = kHostLane;
  InstanceId instance;  ///< the one that waited; none: the failure was found after all launches
};

/// When an operation's turn in its lane came, when its inputs were ready, and when it was done, in ticks (tick_clock.h). For
/// an operation that was left out, `begin` equals `done`. On an asynchronous device "done" means launched; WorkTimes has the rest.
struct OperationTimes {
  int64_t ready = 0, begin = 0, done = 0;
};

/// Where the times of a lane's operations go; of an asynchronous lane's, of its launches.
struct LaneTimes {
  OperationTimes* operations = nullptr;  ///< and one more: until the lane's queue was empty
  /// On the device, of a lane whose queue can tell (Queue::times_work()), else null; then of the lane's copies for the next run.
  WorkTimes* work = nullptr;
};

/// Inputs that come ahead of their run (LaneProgram::ahead).
struct Ahead {
  bool came = false;                    ///< this run's have come during the last
  std::span<const void* const> next{};  ///< the caller's buffers of the next run, to be copied during this one; empty: none
};

class Executor {
 public:
  /// Takes the lanes' programs; lane 0 is the host's. Starts threads for the others that have work, if more than
  /// one lane has. `cores`: how many threads may spin at once.
  Executor(IdVector<LaneId, LaneProgram> lanes, int cores);
  ~Executor();
  /// False if the system provided too few threads; then nothing may be run.
  bool ready() const { return workers_.size() == worker_lanes_.size(); }
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Runs all lanes and returns when all are done. `sink` may be null: then lines go to stdout. One run at a time.
  /// False if an operation failed (see failure()) or a device did (see device_failure()). `times`: none, or one for each lane.
  /// A run with times replays no recorded work: it makes each launch separately.
  bool run(const PrintSink* sink, std::span<const LaneTimes> times = {}, RunPart part = RunPart::whole,
           const Ahead& ahead = {});
  /// Whether a run may be started while the one before is under way: all lanes with work have ends (LaneProgram::ends).
  bool overlaps() const { return may_overlap_; }
  /// Then: whether one can be started now. Else run() does what the first run does once, or comes after a failure of other work.
  bool can_start() const;
  /// Hands a run over, and returns before it is done. At most two are under way; the second begins once the first has ended.
  void start(const PrintSink* sink, const Ahead& ahead);
  /// Returns when the older run under way is done; the result is run()'s. If it is false, the other one changed no variable,
  /// has ended and is forgotten.
  bool finish();
  int under_way() const { return under_way_; }
  /// Runs all operations except prints on the caller's thread, in an order that keeps each lane's, with `commit` also those
  /// that write variables, and shows each when it is done; `look` returns false to stop. Errors: a device's.
  Result<void> run_one_by_one(bool commit, const std::function<bool(LaneId lane, const LaneOperation& operation)>& look);
  /// The last run's failure to report: the lowest replica's, steps outside regions last.
  const LaneFailure* failure() const;
  /// The last run's device failure to report: one that a lane found in its own work takes precedence over one met while
  /// waiting. Null: none failed.
  const DeviceFailure* device_failure() const;
  /// All of them, one per lane.
  std::vector<const DeviceFailure*> device_failures() const;
  LaneProgram& lane(LaneId lane) { return lanes_[lane]->program; }
  size_t threads() const { return workers_.size(); }

 private:
  struct alignas(64) Lane {
    LaneProgram program;
    std::atomic<int32_t> progress{0};  ///< operations known to be done in this run
    std::atomic<int32_t> started{0};   ///< number of the run that the lane should do
    std::atomic<int32_t> finished{0};  ///< number of the last run that it has done
    LaneFailure failure;
    DeviceFailure device_failure;                  ///< an empty error: none in this run
    LaneTimes times;                               ///< of this run; null: not wanted
    std::vector<const LaneSegment*> unrecordable;  ///< launched one by one, because recording them failed
    std::vector<std::string> problems;             ///< why, until it has been reported
    uint32_t begin = 0, end = 0;                   ///< the operations of this run
    bool clears = true;                            ///< operations may have failed since the queue's flag was cleared
  };

  void work(Lane& lane);
  /// What all lanes need to know of a run before it begins.
  void prepare(const PrintSink* sink, const Ahead& ahead);
  /// All lanes, on their threads.
  void execute_all(bool from_start);
  void begin_run(Lane& lane);
  void forget_failures();
  /// The run of this phase is done: notes which of the lane's operations have failed in it.
  void note_failures(Lane& lane, int phase);
  void note_failure_of(Lane& lane, const LaneOperation& operation, int phase);
  /// Waits for the older run under way on all lanes.
  void end_oldest();
  /// Runs each operation that writes no variable once, separately: libraries load a kernel when it is first launched, and
  /// loading may wait for all work of a device, including a collective that waits for a member whose thread waits for the
  /// loader. False if a device failed.
  bool load_all();
  /// All lanes' operations, one after another as in run_one_by_one(): memory is planned for the lanes' own orders.
  std::vector<std::pair<LaneId, const LaneOperation*>> one_by_one() const;
  void execute(Lane& lane);
  template <bool timed>
  void execute(Lane& lane);
  /// The same for an asynchronous lane (handover.cpp).
  template <bool timed>
  void hand_over(Lane& lane);
  void hand_over(Lane& lane, const LaneLaunch& launch);
  void hand_over(Lane& lane, LaneSegment& segment);
  /// Starts the copies for the next run.
  void bring_next(Lane& lane, bool timed);
  /// Segments as recorded work (record_segment.cpp). A segment that can't be recorded notes which of its operations is why.
  void record(Lane& lane, LaneSegment& segment);
  Result<std::unique_ptr<RecordedWork>> recorded(Lane& lane, uint32_t first, uint32_t end);
  /// Reports on stderr, once, which segments of a successful run could not be recorded.
  void report_unrecorded(Lane& lane);
  void enqueue(Lane& lane, const LaneLaunch& launch);
  void wait(Lane& lane, const LaneOperation& operation);
  void signal(Lane& lane, const LaneOperation& operation);
  void enqueue(Lane& lane, const LaneOperation& operation);
  /// For all lanes that take part in an operation among several.
  void enqueue_collective(int collective);
  /// False if the lane's device failed.
  bool synchronize(Lane& lane);
  bool read_work_times(Lane& lane, size_t count);
  void lose(Lane& lane, Error error, InstanceId instance);
  void print(std::string_view line);
  void note_failure(Lane& lane, const LaneOperation& operation, std::string reason);
  void note_exception(Lane& lane, const LaneOperation& operation, const std::exception& thrown);
  static bool reached(int32_t value, int32_t target);
  static int32_t next(int32_t number) { return static_cast<int32_t>(static_cast<uint32_t>(number) + 1); }
  /// Returns when `value` has reached `target`.
  void wait_for(const std::atomic<int32_t>& value, int32_t target) const;

  IdVector<LaneId, std::unique_ptr<Lane>> lanes_;
  std::vector<std::thread> workers_;
  std::vector<Lane*> worker_lanes_;
  Lane* caller_lane_ = nullptr;  ///< run on the caller's thread; null: there is no work at all
  const PrintSink* sink_ = nullptr;
  Ahead ahead_;               ///< of this run
  int phase_ = 0;             ///< of this run, the newest
  bool second_ = false;       ///< LaneProgram::second of lanes to which inputs come ahead
  bool starting_ = false;     ///< this run is handed over only
  int under_way_ = 0;         ///< runs started and not finished
  std::vector<Event*> ends_;  ///< of the run that this one follows, on all lanes that have work; none: it follows none
  bool may_overlap_ = false;  ///< all lanes that have work have ends
  std::atomic<bool> failed_{false};
  std::atomic<bool> lost_{false};  ///< a device failed in this run
  std::atomic<bool> stop_{false};
  bool unloaded_ = false;  ///< LaneProgram::loads_first, and not all operations have run yet
  int32_t run_number_ = 0;
  int spins_ = 0;
};

}  // namespace sheaf
