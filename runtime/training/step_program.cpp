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

void StepProgram::take(std::span<const void* const> given) {
  for (size_t i = 0; i < given.size(); ++i) buffers_[places_[i]] = given[i];
}

Result<float> StepProgram::run(std::span<const void* const> given, const RunOptions& options,
                               std::span<const void* const> next) {
  take(given);
  next_.clear();
  if (next.size() == places_.size() && !next.empty()) {
    next_ = buffers_;
    for (size_t i = 0; i < next.size(); ++i) next_[places_[i]] = next[i];
  }
  void* const output = &loss_;
  auto done = binding_->run(buffers_, {&output, 1}, &options.print, options.trace.get(), next_);
  if (done || binding_->loss_not_finite()) return loss_;
  return done.error();
}

Result<std::string> StepProgram::first_not_finite(std::span<const void* const> given) {
  take(given);
  void* const output = &loss_;
  return binding_->first_not_finite(buffers_, {&output, 1});
}

}  // namespace sheaf
