// A compiled model as what the training loop trains.
#pragma once

#include "runtime/training/loop.h"
#include "runtime/training/trainer.h"

#include <map>
#include <memory>
#include <vector>

namespace sheaf {

class ModelLearner : public Learner {
 public:
  /// Binds the train program to batches of `batch_size` rows and to those that `rows` leaves over. The values of a
  /// batch come in the order of training_values(plan). Errors: those of Trainer::bind.
  static Result<std::unique_ptr<ModelLearner>> make(Model model, std::shared_ptr<const DeviceSet> devices, int64_t rows,
                                                    int64_t batch_size, const TrainingProgress& progress,
                                                    const BindOptions& options);

  Result<float> step(int64_t rows, std::span<const void* const> buffers) override;
  std::string first_not_finite(int64_t rows, std::span<const void* const> buffers) override;
  TrainingProgress& progress() override { return *progress_; }
  double learning_rate() const override;
  /// Takes the times of the steps' operations; null: nobody does.
  void set_trace(std::shared_ptr<Trace> trace) { run_.trace = std::move(trace); }

  /// Parameters and buffers, as they are now. Errors: a device's.
  Result<std::vector<HostTensor>> parameters() const;
  /// These, then the optimiser's state: what a checkpoint holds.
  Result<std::vector<HostTensor>> tensors() const;
  /// Their declarations, in the same order; names are PyTorch's.
  std::vector<const Parameter*> declarations() const;
  /// Sets them all, in that order.
  Result<void> restore(const std::vector<HostTensor>& tensors);

 private:
  ModelLearner(Model model, std::shared_ptr<TrainingProgress> progress)
      : model_(std::move(model)), progress_(std::move(progress)) {}

  Model model_;
  std::shared_ptr<TrainingProgress> progress_;
  RunOptions run_;
  std::map<int64_t, Trainer> trainers_;  ///< by rows of a batch
};

}  // namespace sheaf
