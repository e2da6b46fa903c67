// The training loop: batches to steps, steps to epochs. What it trains and what it reports are interfaces, so tests need no
// compiled model.
#pragma once

#include "runtime/training/batch_loader.h"
#include "runtime/training/best_epoch.h"
#include "runtime/training/epoch_history.h"
#include "runtime/training/record.h"
#include "sheaf/trainer.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// What the loop trains (runtime/training/model_learner.h: a model).
class Learner {
 public:
  virtual ~Learner() = default;
  /// Starts an optimiser step on `rows` rows: it increments progress().steps. `buffers` stay as they are until it is finished.
  /// `next`: the next step's buffers, of as many rows, where they are there already; else empty.
  virtual Result<void> start(int64_t rows, std::span<const void* const> buffers, std::span<const void* const> next) = 0;
  /// The loss of the oldest step that was started and not finished. If it isn't finite, or an error, that step and those started after
  /// it have changed nothing, progress().steps included, and are forgotten.
  virtual Result<float> finish() = 0;
  /// Whether it is faster to start a step before the one before it is finished; then two are under way at most.
  virtual bool overlaps() const { return false; }
  /// The last step's `next` won't come.
  virtual void forget_next() {}
  /// After a step whose loss wasn't finite: the first layer with a result that isn't; empty if there is none.
  virtual Result<std::string> first_not_finite(int64_t rows, std::span<const void* const> buffers) = 0;
  /// Which of a step's `rows` rows step() reads; none: all of them.
  virtual Result<std::optional<RowsRead>> rows_read(int64_t) { return std::optional<RowsRead>(); }
  /// Whether there is a scale of the loss to watch.
  virtual bool scales_loss() const { return false; }
  /// Trainer::watch_loss_scale(). No step is under way.
  virtual Result<std::optional<LossScale>> watch_loss_scale() { return std::optional<LossScale>(); }
  virtual TrainingProgress& progress() = 0;
  /// For the next step, under the schedule.
  virtual double learning_rate() const = 0;
  /// After a whole epoch and its evaluation, which schedules may follow. Errors: a schedule needs a value that wasn't measured.
  virtual Result<void> epoch_done(const EpochRecord&) { return {}; }
};

/// The state of a run between two steps. Together with the learner's tensors, this is all that a run needs to continue.
struct LoopState {
  int64_t step = 0;      ///< done
  int64_t epoch = 0;     ///< done, with their evaluation
  int64_t position = 0;  ///< steps done in the current epoch
  double loss_sum = 0;   ///< over that epoch's rows so far
  int64_t rows = 0;      ///< of that epoch so far
  double seconds = 0;    ///< spent on them
  double data_wait_seconds = 0;
  EpochHistory epochs;  ///< those done
  LossCurve curve;
  BestEpoch best;  ///< of those evaluated
  Plateau plateau;
};

struct LoopSettings {
  int64_t batch_size = 1;
  int64_t steps = 0;             ///< to do by the end, counted from the run's very beginning
  int64_t checkpoint_every = 0;  ///< steps; 0: only at the end of epochs
  /// Checkpoints of epochs are skipped while all saves together have taken longer than training, by more than this.
  double saving_allowance_seconds = 2;
  bool shuffle = true;
  bool drop_last = false;  ///< rows left over at an epoch's end are dropped
  uint64_t seed = 0;
  int64_t patience = 0;      ///< the run ends after this many epochs without a better evaluation than the best; 0: never
  bool loss_is_sum = false;  ///< of a batch's rows ("reduction": "sum"), not their mean
};

/// Hooks around steps. All but `stopped` may be empty.
struct LoopHooks {
  std::function<Result<void>(const StepRecord&)> step;
  std::function<Result<void>(const EpochRecord&)> epoch;
  /// None: it was stopped meanwhile.
  std::function<Result<std::optional<Evaluation>>()> evaluate;
  std::function<Result<void>(const LoopState&)> save;
  /// After an evaluation better than all before; the learner is still in the evaluated state.
  std::function<Result<void>()> keep_best;
  /// True once the run should end after the current step.
  std::function<bool()> stopped;
  /// Receives the waits for data.
  std::shared_ptr<Trace> trace;
};

enum class Ending { finished, stopped };

/// Trains from `state` on. A step's successor is started before its loss is asked for, if the learner overlaps and nothing has to
/// be done in between. Calls `save` at each epoch's end (but see saving_allowance_seconds), every
/// `checkpoint_every` steps, at the end and when stopped. Errors: a loss that isn't finite (with its step, and the layer that
/// the first such layer); those of the learner and the hooks. `state` is then the one after the last step that succeeded.
Result<Ending> train(Learner& learner, const Dataset& data, const LoopSettings& settings, const LoopHooks& hooks,
                     LoopState& state);

}  // namespace sheaf
