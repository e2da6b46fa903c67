// A program bound to devices and a batch size: all memory planned, all operations prepared, ready to run again and
// again without allocating or looking anything up.
#pragma once

#include "runtime/bind/communications.h"
#include "runtime/bind/finite_search.h"
#include "runtime/bind/memory_profile.h"
#include "runtime/bind/observation.h"
#include "runtime/bind/operation_info.h"
#include "runtime/bind/rows_read.h"
#include "runtime/bind/run_errors.h"
#include "runtime/bind/unfinished.h"
#include "sheaf/tune.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

class ArenaPool;
class Recording;
class Trace;

/// A lane's memory and work.
struct LaneInfo {
  std::string name;        ///< "host", "cpu:1"
  size_t arena_bytes = 0;  ///< as allocated
  size_t arena_bound = 0;  ///< bytes live at the worst moment: no arena could be smaller
  size_t operations = 0;
  size_t parameter_bytes = 0;  ///< the part of BindingInfo's in this lane's memory, unless an earlier lane has the same memory
  size_t derived_bytes = 0;
};

struct BindingInfo {
  std::vector<LaneInfo> lanes;
  std::vector<OperationInfo> operations;
  std::vector<Communication> communications;  ///< between lanes
  std::vector<LaneMemory> memory;             ///< by lane
  size_t parameter_bytes = 0;  ///< parameters, buffers and state, wherever they live: shared by all bindings of a model
  size_t derived_bytes = 0;    ///< folded and reordered copies of them, shared likewise
  std::string choices;         ///< a digest of what was chosen by measurement; empty: nothing was
};

struct BindRequest {
  const Plan& plan;
  const Program& program;
  std::shared_ptr<const DeviceSet> devices;
  IdVector<LaneId, std::shared_ptr<const Kernels>> kernels;
  std::shared_ptr<VariableStore> store;
  int64_t batch = 0;
  bool fast_numerics = false;
  bool explain = false;          ///< reasons name the alternatives too
  bool observe = false;          ///< Binding::observe() will be called
  bool graphs = true;            ///< work without waits is recorded once and replayed, if the lane's queue can
  bool deterministic = true;     ///< sums come in the same order in each run
  Seconds deadline = kDeadline;  ///< of waits for asynchronous devices (Device::open_queue())
  size_t first_outputs = 0;      ///< outputs of the first of two parts of a run (run_part()); 0: runs have one part
  Tune tune = Tune::off;         ///< whether candidates are measured (runtime/bind/tune.h)
  ByteInputs bytes{};            ///< BindOptions::bytes
  std::shared_ptr<ArenaPool> arenas = nullptr;  ///< where arenas come from (runtime/bind/arena_pool.h); null: its own
  /// `program` before numbers took the place of its lengths, whose steps tell work on weights apart (VariableStore::derive()) and
  /// outlive the store; null: it had none.
  const Program* origin = nullptr;
};

class Binding : private Unfinished {
 public:
  /// Errors: an index beyond the device list (located at the layer), inputs that split differently, an operation
  /// that cannot be prepared (as "replica i on device d: …"), too little memory.
  static Result<std::unique_ptr<Binding>> bind(const BindRequest& request);
  /// Finishes what was started.
  ~Binding() override;
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// Program inputs (and targets) in the order of Program::values, outputs as listed; plain, with their sizes.
  const std::vector<TensorSpec>& inputs() const { return buffers_.inputs(); }
  const std::vector<TensorSpec>& outputs() const { return buffers_.outputs(); }
  /// By input: the rows that this process reads; all others may hold anything.
  const std::vector<Run>& rows_read() const { return rows_read_; }

  /// Runs the program. `inputs` and `outputs` are host buffers, one for each of inputs() and outputs(), aligned to
  /// their element size, outputs apart from each other and from the inputs. Addresses that are the same as in the
  /// last run cost nothing. `sink` takes printed lines (null: stdout), `trace` the operations' times. Errors: weights were
  /// never set, another number of buffers, a misaligned or missing one, a failure in a replica ("replica i on device d: …").
  ///
  /// `next`: the inputs of the next run, which stay as they are until then; a training program brings those that are large to
  /// asynchronous devices while this run goes on. A next run with other addresses is as if there had been no `next`. None: empty.
  Result<void> run(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink = nullptr,
                   Trace* trace = nullptr, std::span<const void* const> next = {});

  /// Whether a run may be started while the one before is under way: a training program all of whose work is done by GPUs of this
  /// process, each of which can tell by itself that the run has failed.
  bool overlaps() const { return executor_->overlaps(); }
  /// If overlaps(): hands a run over and returns before it is done, as run() otherwise. At most two are under way. If one of them
  /// fails, later ones change no variable and are forgotten. `inputs`, `outputs` and `next` stay as they are until the run is finished;
  /// its outputs are there then. A run that does what the first one does once is done at return.
  /// Errors: those of run() that are known by now; then nothing was started.
  Result<void> start(std::span<const void* const> inputs, std::span<void* const> outputs, const PrintSink* sink = nullptr,
                     std::span<const void* const> next = {});
  /// Returns when the oldest run started and not finished is done, with its error.
  Result<void> finish();

  /// For a binding made with `first_outputs`: runs the first part, which takes all inputs but the targets and gives the first
  /// outputs; or the second, which must come after it, takes the targets and gives the rest. In between, the caller's buffers
  /// of the first part stay as they are. Errors: as run().
  Result<void> run_part(RunPart part, std::span<const void* const> inputs, std::span<void* const> outputs,
                        const PrintSink* sink = nullptr);

  /// For a training program, after a run that failed, or a finish(): whether only the check of the loss failed it. Variables are unchanged,
  /// and so is everything that run() would complain about.
  bool loss_not_finite() const { return loss_not_finite_; }
  /// For a training program: runs it once more without its updates and returns the layer of the first operation, in program
  /// order, whose result isn't finite; empty if there is none. Errors: as run().
  Result<std::string> first_not_finite(std::span<const void* const> inputs, std::span<void* const> outputs);

  /// For a binding made with `observe`: runs all operations on the caller's thread, one by one in program order, updates
  /// included, without printing. Errors: as run().
  Result<void> observe(std::span<const void* const> inputs, std::span<void* const> outputs, const Observer& look);
  /// While a value is shown: copies its elements to, or from, plain host memory. Errors: a device's.
  Result<void> read(const BoundValue& value, void* plain);
  Result<void> write(const BoundValue& value, const void* plain);

  const BindingInfo& info() const { return info_; }
  size_t threads() const { return executor_->threads(); }

 private:
  Binding() = default;
  Result<void> allocate_arenas(const MemoryPlan& plan, const Schedule& schedule, ArenaPool* shared);
  void describe(const PlannedBinding& planned);
  /// Checks and stores the caller's buffers, and makes sure that weights are there.
  Result<void> take_buffers(std::span<const void* const> inputs, std::span<void* const> outputs);
  void settle() override;
  /// Settles what is under way in the variables or the arenas, by this binding or another; `others`: only by another.
  void settle_all(bool others = false);
  /// The oldest run under way is done.
  void end_oldest();
  /// After a failed run: why, and in a world the same error on all ranks.
  Error failed_run();
  Result<void> prepare_weights();
  Error error() const { return run_error(*executor_, {*devices_, info_.operations, entries_}); }
  /// After a successful run of a training program.
  void note_updates();
  /// A run whose operations' times go to `trace`.
  bool traced_run(const PrintSink* sink, Trace& trace, const Ahead& ahead);
  /// Memory is used otherwise: what came ahead is lost.
  void forget_what_came();
  /// What comes ahead of the run of `inputs`, and during it.
  Ahead ahead_of(std::span<const void* const> inputs, std::span<const void* const> next);
  TensorPlace place_of(TensorSpec spec, void* data, LaneId lane);

  std::shared_ptr<const DeviceSet> devices_;
  IdVector<LaneId, std::shared_ptr<const Kernels>> kernels_;
  std::shared_ptr<VariableStore> store_;
  const Plan* plan_ = nullptr;
  const Program* program_ = nullptr;
  int64_t batch_ = 0;
  CallerBuffers buffers_;
  std::vector<Run> rows_read_;
  IdVector<LaneId, std::shared_ptr<void>> arenas_;
  std::vector<std::unique_ptr<Executable>> executables_;
  std::vector<std::unique_ptr<Event>> events_;
  std::vector<std::string> texts_;
  IdVector<InstanceId, int> entries_;  ///< of the device list, -1: host
  FiniteSearch results_;               ///< of a training program
  Observation observation_;            ///< with BindRequest::observe
  InstanceId guard_;                   ///< the check of the loss
  InstanceId agreed_;                  ///< in a world, where this rank learns whether some rank's run has failed
  const Executable* agreement_ = nullptr;
  std::vector<NodeId> updated_;      ///< variables that a run gives new values
  bool trains_ = false;              ///< the program has updates
  std::vector<size_t> ahead_;        ///< inputs that may come ahead
  std::vector<const void*> came_;    ///< their addresses, by input, in the last run; empty: none came
  std::shared_ptr<ArenaPool> pool_;  ///< whose arenas other bindings use too; null: nobody does
  RunParts parts_;
  std::unique_ptr<Executor> executor_;
  /// A run that was started and not finished.
  struct Started {
    bool done = false;
    std::optional<Error> error;
    bool loss_not_finite = false;
  };
  std::vector<Started> started_;          ///< in order; none after one that has failed
  std::shared_ptr<Recording> recording_;  ///< of the trace that the last traced run went to
  BindingInfo info_;
  size_t needed_ = 0;  ///< how much of VariableStore::work() must be done before a run
  bool gathers_scalars_ = false;
  bool loss_not_finite_ = false;
};

}  // namespace sheaf
