#include "runtime/training/loop.h"

#include "sheaf/trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>

namespace sheaf {
namespace {

/// Steps between looks at the loss's scale: each waits for the device that it is on.
constexpr int64_t kScaleEvery = 10;

class Loop {
 public:
  Loop(Learner& learner, const Dataset& data, const LoopSettings& settings, const LoopHooks& hooks, LoopState& state)
      : learner_(learner),
        data_(data),
        settings_(settings),
        hooks_(hooks),
        state_(state),
        per_epoch_(batches_per_epoch(data.rows(), settings.batch_size, settings.drop_last)) {}

  Result<Ending> run() {
    learner_.progress().steps = state_.step;
    learner_.progress().epochs = state_.epoch;
    learner_.progress().plateau = state_.plateau;
    SHEAF_ASSIGN(const auto options, loader_options());
    SHEAF_ASSIGN(auto loader, BatchLoader::start(data_, options));
    learner_.forget_next();  // of an earlier run, whose buffers are gone
    auto ending = run_steps(*loader);
    if (!ending) count_started();
    return ending;
  }

 private:
  struct Moment {
    std::chrono::steady_clock::time_point time;
    double waited = 0;  ///< for data, until then
  };
  struct Started {
    StepRecord record;
    Batch batch;
    Moment begin;
  };

  static Moment now(const BatchLoader& loader) { return {std::chrono::steady_clock::now(), loader.waited_seconds()}; }

  Result<Ending> run_steps(BatchLoader& loader) {
    for (;;) {
      if (state_.position == per_epoch_) {
        SHEAF_ASSIGN(auto whole, finish_epoch());
        if (!whole) return stop();
      }
      if (state_.step >= settings_.steps || patience_is_over()) break;
      if (hooks_.stopped()) {
        SHEAF_TRY(finish_all(loader));
        return stop();
      }
      SHEAF_TRY(step(loader));
    }
    return finish();
  }

  bool patience_is_over() const {
    return settings_.patience > 0 && state_.best.epoch > 0 && state_.epoch - state_.best.epoch >= settings_.patience;
  }

  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Result<LoaderOptions> loader_options() {
    LoaderOptions options;
    options.batch_size = settings_.batch_size;
    options.shuffle = settings_.shuffle;
    options.drop_last = settings_.drop_last;
    options.seed = settings_.seed;
    options.epoch = state_.epoch;
    options.position = state_.position;
    options.batches = std::max<int64_t>(settings_.steps - state_.step, 0);
    if (learner_.overlaps()) options.in_use = 2;
    const int64_t whole = std::min(settings_.batch_size, data_.rows());
    const int64_t rest = whole == 0 || settings_.drop_last ? 0 : data_.rows() % whole;
    for (const int64_t rows : {whole, rest}) {
      if (rows == 0) continue;
      SHEAF_ASSIGN(auto needed, learner_.rows_read(rows));
      if (needed) options.needed.emplace(rows, *std::move(needed));
    }
    return options;
  }

  /// Starts a step. It stays under way, if nothing must follow its end, until the next one is started.
  Result<void> step(BatchLoader& loader) {
    const Moment begin = now(loader);
    const int64_t number = state_.step + std::ssize(started_) + 1;
    const int64_t asked = Trace::now();
    auto next = loader.next();
    if (hooks_.trace) hooks_.trace->add_data_wait(asked);
    if (!next || !*next) {
      SHEAF_TRY(finish_all(loader));
      if (!next) return next.error().note("needed for step " + std::to_string(number) + " of training");
      return Error("internal error: the loader ran out of batches at step " + std::to_string(number));
    }
    const Batch& batch = **next;
    const StepRecord record{number, state_.epoch + 1, batch.rows, 0, learner_.learning_rate(), 0, 0};
    if (auto begun = learner_.start(batch.rows, batch.buffers, loader.next_if_ready(batch.rows)); !begun) {
      SHEAF_TRY(finish_all(loader));
      return begun.error().note("in step " + std::to_string(number) + " of training");
    }
    started_.push_back({record, batch, begin});
    const size_t stay = learner_.overlaps() && !must_end(number) ? 1 : 0;
    while (started_.size() > stay) SHEAF_TRY(finish_step(loader));
    return {};
  }

  /// Whether what follows step `number`, the newest, needs all steps to be done.
  bool must_end(int64_t number) const {
    return state_.position + std::ssize(started_) == per_epoch_ || number >= settings_.steps ||
           (settings_.checkpoint_every > 0 && number % settings_.checkpoint_every == 0) ||
           (number % kScaleEvery == 0 && learner_.scales_loss());
  }

  Result<void> finish_all(BatchLoader& loader) {
    while (!started_.empty()) SHEAF_TRY(finish_step(loader));
    return {};
  }

  /// The oldest step.
  Result<void> finish_step(BatchLoader& loader) {
    Started step = std::move(started_.front());
    started_.pop_front();
    StepRecord& record = step.record;
    auto loss = learner_.finish();
    if (!loss || !std::isfinite(*loss)) started_.clear();
    if (!loss) return loss.error().note("in step " + std::to_string(record.step) + " of training");
    record.loss = *loss;
    // While one step's end is awaited, another may be under way: their times follow each other.
    const Moment end = now(loader), begin = last_end_ && last_end_->time > step.begin.time ? *last_end_ : step.begin;
    last_end_ = end;
    record.seconds = std::chrono::duration<double>(end.time - begin.time).count();
    record.data_wait_seconds = end.waited - begin.waited;
    if (!std::isfinite(*loss)) return not_finite(record, step.batch);

    count(record);
    auto scale =
        state_.step % kScaleEvery == 0 && learner_.scales_loss() ? learner_.watch_loss_scale() : std::optional<LossScale>();
    if (scale) record.loss_scale = *scale;
    if (hooks_.step) {
      SHEAF_TRY(hooks_.step(record));
    }
    if (!scale) return scale.error().note("after step " + std::to_string(record.step) + " of training");
    const bool due = settings_.checkpoint_every > 0 && state_.step % settings_.checkpoint_every == 0;
    return due && state_.position < per_epoch_ ? save() : Result<void>();
  }

  void count(const StepRecord& record) {
    ++state_.step;
    ++state_.position;
    state_.loss_sum += settings_.loss_is_sum ? record.loss : record.loss * static_cast<double>(record.rows);
    state_.rows += record.rows;
    state_.seconds += record.seconds;
    state_.data_wait_seconds += record.data_wait_seconds;
    state_.curve.add(record.loss);
    last_lr_ = record.lr;
  }

  /// After an error: the state tells of all steps that were done, also of those that nobody was told of.
  void count_started() {
    while (!started_.empty()) {
      Started step = std::move(started_.front());
      started_.pop_front();
      auto loss = learner_.finish();
      if (!loss || !std::isfinite(*loss)) return started_.clear();
      step.record.loss = *loss;
      count(step.record);
    }
  }

  Error not_finite(const StepRecord& record, const Batch& batch) {
    const auto layer = learner_.first_not_finite(batch.rows, batch.buffers);
    if (hooks_.step) (void)hooks_.step(record);  // this error matters more than the metrics file's
    const char* value = std::isnan(record.loss) ? "nan" : record.loss > 0 ? "inf" : "-inf";
    Error error(std::string("the loss of step ") + std::to_string(record.step) + " (epoch " + std::to_string(record.epoch) +
                ") is " + value +
                (!layer           ? "; which layer's output was the first could not be found out: " + layer.error().message()
                 : layer->empty() ? ", though every layer's output is finite"
                                  : ": the first output that isn't finite is that of layer '" + *layer + "'"));
    return error.note("a smaller learning rate (--lr; it was " + number(record.lr) +
                      ") or \"clip_grad_norm\" in the model's training section may help; or the data holds such values");
  }

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }

  EpochRecord epoch_record(bool complete) const {
    EpochRecord record;
    record.epoch = state_.epoch + 1;
    record.steps = state_.position;
    record.complete = complete;
    record.seconds = state_.seconds;
    record.data_wait_seconds = state_.data_wait_seconds;
    record.train_loss = state_.loss_sum / static_cast<double>(state_.rows);
    record.lr = last_lr_ ? *last_lr_ : learner_.learning_rate();
    record.rows = state_.rows;
    return record;
  }

  /// Evaluates and reports. False if it was stopped: then the epoch isn't done.
  Result<bool> tell_epoch(EpochRecord record) {
    SHEAF_ASSIGN(record.loss_scale, learner_.watch_loss_scale());
    if (hooks_.evaluate) {
      SHEAF_ASSIGN(auto found, hooks_.evaluate());
      if (!found) return false;
      record.evaluation = *found;
      if (state_.best.take(record.epoch, *record.evaluation) && hooks_.keep_best) {
        SHEAF_TRY(hooks_.keep_best());
      }
    }
    if (hooks_.epoch) {
      SHEAF_TRY(hooks_.epoch(record));
    }
    if (record.complete) {
      SHEAF_TRY(learner_.epoch_done(record));
      state_.plateau = learner_.progress().plateau;
      state_.epochs.add(std::move(record));
    }
    return true;
  }

  Result<bool> finish_epoch() {
    auto told = tell_epoch(epoch_record(true));
    if (!told || !*told) return told;
    ++state_.epoch;
    state_.position = 0;
    state_.loss_sum = state_.seconds = state_.data_wait_seconds = 0;
    state_.rows = 0;
    learner_.progress().epochs = state_.epoch;
    if (saving_seconds_ > settings_.saving_allowance_seconds + seconds_since(began_) - saving_seconds_) return true;
    SHEAF_TRY(save());
    return true;
  }

  Result<void> save() {
    if (!hooks_.save) return {};
    const auto begin = std::chrono::steady_clock::now();
    saved_ = std::pair(state_.step, state_.epoch);
    auto saved = hooks_.save(state_);
    saving_seconds_ += seconds_since(begin);
    return saved;
  }
  Result<void> save_once() { return saved_ == std::pair(state_.step, state_.epoch) ? Result<void>() : save(); }

  Result<Ending> stop() {
    SHEAF_TRY(save_once());
    return Ending::stopped;
  }

  Result<Ending> finish() {
    SHEAF_TRY(save_once());
    if (state_.position > 0) {
      SHEAF_ASSIGN(auto told, tell_epoch(epoch_record(false)));
      if (!told) return Ending::stopped;
    }
    return Ending::finished;
  }

  Learner& learner_;
  const Dataset& data_;
  const LoopSettings& settings_;
  const LoopHooks& hooks_;
  LoopState& state_;
  const int64_t per_epoch_;
  std::deque<Started> started_;     ///< and not finished: at most two, in order
  std::optional<Moment> last_end_;  ///< of the step finished last
  std::optional<double> last_lr_;
  std::pair<int64_t, int64_t> saved_{-1, -1};
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double saving_seconds_ = 0;
};

}  // namespace

Result<Ending> train(Learner& learner, const Dataset& data, const LoopSettings& settings, const LoopHooks& hooks,
                     LoopState& state) {
  return Loop(learner, data, settings, hooks, state).run();
}

}  // namespace sheaf
