#include "runtime/training/step_program.h"

#include "runtime/plan/parameter_groups.h"

#include <algorithm>

namespace sheaf {

const void* StepSettings::find(const std::string& name) const {
  if (name == "step") return &step;
  if (name == "seed") return &seed;
  if (name == "micro_batch") return &micro_batch;
  if (name == "first_row") return &first_row;
  if (name == "lr") return &lr;
  const auto group = group_lr.find(name);
  return group != group_lr.end() ? &group->second : nullptr;
}

void StepSettings::set_rates(const Plan& plan, double base, const TrainingTime& time) {
  lr = static_cast<float>(learning_rate(plan, base, time));
  for (const GroupRate& group : group_rates(plan, base))
    group_lr[group.setting] = static_cast<float>(learning_rate(plan, group.lr, time));
}

Result<StepProgram> StepProgram::bind(ModelState& model, Program Plan::* which, std::shared_ptr<const DeviceSet> devices,
                                      int64_t rows, const BindOptions& options, std::span<const ValueInfo> names,
                                      const StepSettings& settings, const Plan* sized) {
  SHEAF_ASSIGN(auto binding, model.bind(which, std::move(devices), rows, options, 0, sized));
  const Program& program = (*model.plan).*which;
  StepProgram bound;
  bound.binding_ = std::move(binding);
  bound.places_.resize(names.size());
  for (const Value& value : program.values) {
    if (value.role == Value::setting) {
      bound.buffers_.push_back(settings.find(value.name));
    } else if (value.role == Value::input || value.role == Value::target) {
      const auto found =
          std::find_if(names.begin(), names.end(), [&](const ValueInfo& info) { return info.name == value.name; });
      if (found == names.end())
        return Error("the plan's programs of a training step differ in their inputs: '" + value.name + "'");
      bound.places_[static_cast<size_t>(found - names.begin())] = bound.buffers_.size();
      bound.buffers_.push_back(nullptr);
    }
  }
  return bound;
}

void StepProgram::take(std::span<const void* const> given, std::span<const void* const> next) {
  for (size_t i = 0; i < given.size(); ++i) buffers_[places_[i]] = given[i];
  next_.clear();
  if (next.empty() || next.size() != places_.size()) return;
  next_ = buffers_;
  for (size_t i = 0; i < next.size(); ++i) next_[places_[i]] = next[i];
}

Result<float> StepProgram::run(std::span<const void* const> given, const RunOptions& options,
                               std::span<const void* const> next) {
  take(given, next);
  void* const output = &losses_[newest_];
  auto done = binding_->run(buffers_, {&output, 1}, &options.print, options.trace.get(), next_);
  if (done || binding_->loss_not_finite()) return losses_[newest_];
  return done.error();
}

Result<void> StepProgram::start(std::span<const void* const> given, const RunOptions& options,
                                std::span<const void* const> next) {
  take(given, next);
  void* const output = &losses_[1 - newest_];
  SHEAF_TRY(binding_->start(buffers_, {&output, 1}, &options.print, next_));
  newest_ = 1 - newest_;
  ++under_way_;
  return {};
}

Result<float> StepProgram::finish() {
  const size_t oldest = under_way_ == 2 ? 1 - newest_ : newest_;
  auto done = binding_->finish();
  under_way_ = done && under_way_ > 0 ? under_way_ - 1 : 0;
  if (done || binding_->loss_not_finite()) return losses_[oldest];
  return done.error();
}

Result<std::string> StepProgram::first_not_finite(std::span<const void* const> given) {
  take(given);
  void* const output = &losses_[newest_];
  return binding_->first_not_finite(buffers_, {&output, 1});
}

}  // namespace sheaf
