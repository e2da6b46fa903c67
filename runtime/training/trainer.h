// One training step after another, in C++: the train program of a plan bound to devices and a batch size.
//
//   auto trainer = sheaf::Trainer::bind(model, "cpu:0,cpu:1", 64);
//   const void* buffers[] = {x.data(), y.data()};   // trainer->inputs(): the model's inputs, then its targets
//   auto loss = trainer->step(buffers);             // forward, backward, update; nothing is allocated
//
// Parameters are the Model's: after a step its other sessions, such as one for evaluation, see the new values.
#pragma once

#include "runtime/session/sheaf.h"

namespace sheaf {

struct Parameter;  // runtime/plan/plan.h

/// What the optimiser keeps between steps besides Plan::state.
struct TrainingProgress {
  int64_t steps = 0;   ///< optimiser steps done
  int64_t epochs = 0;  ///< epochs done: schedules count these
  double lr = 0;       ///< base learning rate, before the schedule
  uint64_t seed = 0;   ///< of dropout
};

/// The learning rate at `epoch` (from 0) under the plan's `training.schedule` (StepLR, MultiStepLR, CosineAnnealingLR,
/// LinearLR; null: `base`): PyTorch's closed forms, stepped once an epoch.
double learning_rate(const Plan& plan, double base, int64_t epoch);

/// The optimiser's state, of Plan::state: without what lives within a step alone.
std::span<const Parameter> lasting_state(const Plan& plan);

class Trainer {
 public:
  /// Errors: the plan has no train program; those of Model::bind. Several trainers of one model (another batch size
  /// for the last rows) share parameters and optimiser state; `progress` is then the same object. With
  /// BindOptions::micro_batches above 1 a step runs the batch in that many parts, cut as torch.chunk does, and updates
  /// once: less memory, the same mean. Batch norm takes each part's own statistics.
  static Result<Trainer> bind(const Model& model, std::shared_ptr<const DeviceSet> devices, int64_t batch,
                              std::shared_ptr<TrainingProgress> progress, const BindOptions& options = {});
  static Result<Trainer> bind(const Model& model, std::string_view devices, int64_t batch, const BindOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  /// Inputs, then targets, in the order that step() takes them.
  const std::vector<ValueInfo>& inputs() const;
  const std::vector<int64_t>& input_shape(size_t index) const;

  /// Forward, loss, backward, update on one batch. Gives the loss before the update. Where that isn't finite, nothing
  /// is updated: parameters, buffers and optimiser state stay as they were. Errors as Session::run.
  Result<float> step(std::span<const void* const> inputs, const RunOptions& options = {});
  /// After a step whose loss wasn't finite: the first layer, in the order of the step, with an output that isn't
  /// ("net.conv1"), found by running the same step once more and looking at each result; empty where none is.
  std::string first_not_finite(std::span<const void* const> inputs);

  /// Copies entry `index` of lasting_state(plan), as it is now, to `plain`: host memory of its size, dense and row-major.
  /// What a checkpoint saves beside the parameters. Errors: a device's.
  Result<void> read_state(size_t index, void* plain) const;
  /// Copies all of the optimiser's state, shared by the trainers of one model. Errors: missing, superfluous and
  /// misshapen tensors (names as in lasting_state), and then nothing is changed.
  Result<void> set_state(std::span<const TensorView> tensors);

  TrainingProgress& progress();
  /// Of the step's program; with micro-batches that of `accumulate`, for the largest part.
  const BindingInfo& info() const;

 private:
  struct State;
  explicit Trainer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sheaf
