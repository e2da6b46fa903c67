// A compiled model, in the form that the training loop trains.
#pragma once

#include "runtime/training/loop.h"
#include "sheaf/trainer.h"

#include <memory>

namespace sheaf {

class ModelLearner : public Learner {
 public:
  /// Binds the train program to batches of `batch_size` rows and to the leftover rows. The values of a
  /// batch come in the order of training_values(plan). Errors: those of Trainer::bind.
  static Result<std::unique_ptr<ModelLearner>> make(const Model& model, const DeviceList& devices, int64_t rows,
                                                    int64_t batch_size, const TrainingProgress& progress,
                                                    const BindOptions& options);

  Result<void> start(int64_t rows, std::span<const void* const> buffers, std::span<const void* const> next) override {
    return trainer_.start_rows(rows, buffers, run_, next);
  }
  Result<float> finish() override { return trainer_.finish(); }
  bool overlaps() const override { return trainer_.overlaps() && !run_.trace; }
  void forget_next() override { trainer_.forget_next(); }
  Result<std::string> first_not_finite(int64_t rows, std::span<const void* const> buffers) override {
    return trainer_.first_not_finite(rows, buffers);
  }
  Result<std::optional<RowsRead>> rows_read(int64_t rows) override;
  bool scales_loss() const override;
  Result<std::optional<LossScale>> watch_loss_scale() override { return trainer_.watch_loss_scale(); }
  TrainingProgress& progress() override { return trainer_.progress(); }
  double learning_rate() const override { return trainer_.learning_rate(); }
  Result<void> epoch_done(const EpochRecord& record) override;
  /// Receives the times of the steps' operations; null: not recorded.
  void set_trace(std::shared_ptr<Trace> trace) { run_.trace = std::move(trace); }

  Trainer& trainer() { return trainer_; }

 private:
  explicit ModelLearner(Trainer trainer) : trainer_(std::move(trainer)) {}

  Trainer trainer_;
  RunOptions run_;
};

}  // namespace sheaf
