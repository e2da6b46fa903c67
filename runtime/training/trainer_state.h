// The state of a Trainer (internal to its sources).
#pragma once

#include "runtime/session/bound_sizes.h"
#include "runtime/training/batch_step.h"
#include "runtime/training/loss_scale.h"
#include "sheaf/trainer.h"

namespace sheaf {

struct Trainer::State {
  State(Model trained, BoundSize whole) : model(std::move(trained)), bound("trainer", std::move(whole), kMostSizes) {}

  Model model;
  std::shared_ptr<const DeviceSet> devices;
  BindOptions options;
  TrainingProgress progress;
  std::vector<ValueInfo> inputs;       ///< then targets
  std::vector<ParameterInfo> lasting;  ///< the optimiser's state
  StepSettings settings;
  LossScaleWatch watch;
  BoundSizes<BatchStep> bound;
  std::vector<const void*> buffers;  ///< of the values passed to step() with their sizes
  mutable std::string plan_hash;     ///< of the plan, once save() or restore() has needed it
  /// A step that was started and not finished.
  struct Started {
    BatchStep* step = nullptr;
    std::optional<Result<float>> loss;  ///< it is done
    bool counted = false;               ///< in `progress`
  };
  std::vector<Started> started;  ///< in order; none after one that is known to have failed
  // The learning rate is recomputed only if its inputs have changed.
  double base = 0;
  int64_t epoch = -1, reductions = 0;
  bool by_step = false;  ///< the schedule advances with each step

  /// Bound to `size`, now if necessary. Errors: more rows than a batch has; those of binding.
  Result<BatchStep*> step_of(const BoundSize& size);
  /// Puts a step's values into `buffers`. Returns their number of rows, and their lengths.
  Result<BoundSize> take(std::span<const TensorView> values);
  /// Trainer::step_rows() with values of `size`.
  Result<float> step(const BoundSize& size, std::span<const void* const> values, const RunOptions& options,
                     std::span<const void* const> next);
  /// Trainer::start_rows() with values of `size`.
  Result<void> start(const BoundSize& size, std::span<const void* const> values, const RunOptions& options,
                     std::span<const void* const> next);
  Result<std::string> first_not_finite(const BoundSize& size, std::span<const void* const> values);
  /// With the lengths that the whole batch is bound to.
  BoundSize of_rows(int64_t rows) const { return {rows, bound.lengths()}; }
  void set_settings();
  /// Waits for all steps that were started; forgets those after one that failed.
  void end_started();
  /// The last step that was started is known to have failed.
  bool started_failed() const;
  Result<void> check_none_started(const char* what) const;
  Result<void> check_count(size_t given) const;
  const std::string& hash() const;
};

}  // namespace sheaf
