#include "runtime/training/model_learner.h"

#include "runtime/training/batch_step.h"
#include "runtime/training/loss_scale.h"
#include "runtime/training/plateau.h"

#include <algorithm>

namespace sheaf {

Result<std::unique_ptr<ModelLearner>> ModelLearner::make(const Model& model, const DeviceList& devices, int64_t rows,
                                                         int64_t batch_size, const TrainingProgress& progress,
                                                         const BindOptions& options) {
  SHEAF_ASSIGN(auto trainer, Trainer::bind(model, devices, std::min(batch_size, rows), options));
  trainer.progress() = progress;
  if (const int64_t rest = rows % trainer.batch(); rest > 0) {
    SHEAF_TRY(trainer.prepare(rest));
  }
  const auto same_name = [](const ValueInfo& a, const ValueInfo& b) { return a.name == b.name; };
  const std::vector<ValueInfo> expected = training_values(model.plan());
  if (!std::ranges::equal(expected, trainer.inputs(), same_name))
    return Error("internal error: the train program takes its values in another order than the data has them");
  return std::unique_ptr<ModelLearner>(new ModelLearner(std::move(trainer)));
}

Result<std::optional<RowsRead>> ModelLearner::rows_read(int64_t rows) {
  SHEAF_ASSIGN(const BatchStep* step, trainer_.bound_to(rows));
  return std::optional(step->rows_read());
}

bool ModelLearner::scales_loss() const { return sheaf::scales_loss(trainer_.model().plan()); }

Result<void> ModelLearner::epoch_done(const EpochRecord& record) {
  const std::string monitor = trainer_.monitor();
  if (monitor.empty()) return {};
  const auto value = monitored_value(record, monitor);
  if (!value) return Error("the schedule follows " + monitor + ", which epoch " + std::to_string(record.epoch) + " hasn't");
  trainer_.step_schedule(*value);
  return {};
}

}  // namespace sheaf
