// What a Trainer is made of (internal to its sources).
#pragma once

#include "runtime/training/batch_step.h"
#include "sheaf/trainer.h"

#include <list>

namespace sheaf {

struct Trainer::State {
  explicit State(Model trained) : model(std::move(trained)) {}

  Model model;
  std::shared_ptr<const DeviceSet> devices;
  BindOptions options;
  int64_t batch = 0;
  TrainingProgress progress;
  std::vector<ValueInfo> inputs;       ///< then targets
  std::vector<ParameterInfo> lasting;  ///< the optimiser's state
  StepSettings settings;
  /// By number of rows, the most recently used first. References stay valid.
  std::list<std::pair<int64_t, BatchStep>> bound;
  std::vector<const void*> buffers;  ///< of the values passed to step() with their sizes
  mutable std::string plan_hash;     ///< of the plan, once save() or restore() has needed it
  // The learning rate is recomputed only if what it depends on has changed.
  double base = 0;
  int64_t epoch = -1;

  /// Bound to `rows` rows, now if it wasn't before. Errors: more rows than a batch has; those of binding.
  Result<BatchStep*> step_of(int64_t rows);
  /// Puts a step's values into `buffers`. Returns their number of rows.
  Result<int64_t> take(std::span<const TensorView> values);
  void set_settings();
  Result<void> check_count(size_t given) const;
  const std::string& hash() const;
};

}  // namespace sheaf
