#include "runtime/check/check_training.h"

#include "runtime/base/printable.h"
#include "runtime/plan/parameter_groups.h"

#include <array>
#include <cmath>
#include <unordered_set>

namespace sheaf {

namespace {

struct Setting {
  std::string_view name;
  DType dtype;
};

constexpr std::array<Setting, 5> kSettings = {{{"step", DType::int64},
                                               {"seed", DType::int64},
                                               {"micro_batch", DType::int64},
                                               {"first_row", DType::int64},
                                               {"lr", DType::float32}}};

bool is_empty(const Program& program) {
  return program.symbols.empty() && program.values.empty() && program.steps.empty() && program.outputs.empty() &&
         program.updates.empty();
}

/// A program of the training step gives the loss.
std::optional<std::string> problem_of_step(const Program& program) {
  if (program.steps.empty()) return ".steps: a training program needs steps";
  if (program.outputs.size() != 1 || program.outputs[0].name != "loss")
    return ".outputs: a training program has one output, 'loss'";
  const auto index = static_cast<size_t>(program.outputs[0].value);
  if (index >= program.values.size()) return std::nullopt;  // check_program says it
  const Value& loss = program.values[index];
  if (loss.dtype == DType::float32 && loss.shape.empty() && loss.role == Value::temporary) return std::nullopt;
  return ".outputs[0]: the loss is float32 without dimensions, and made by a step";
}

}  // namespace

std::optional<std::string> problem_of_setting(const Value& value, const Plan& plan) {
  const auto problem_as = [&](DType dtype) -> std::optional<std::string> {
    if (value.dtype != dtype || !value.shape.empty())
      return "the setting '" + value.name + "' is " + std::string(name_of(dtype)) + " without dimensions";
    if (value.place.kind != Place::host) return "settings are given on the host";
    return std::nullopt;
  };
  for (const Setting& setting : kSettings)
    if (value.name == setting.name) return problem_as(setting.dtype);
  for (const GroupRate& group : group_rates(plan))
    if (value.name == group.setting) return problem_as(DType::float32);
  return "there is no setting " + in_quotes(value.name) + "; a plan of another sheaf is made anew by `sheaf compile`";
}

std::optional<std::string> problem_of_state(const Parameter& state) {
  if (state.buffer || !state.aliases.empty()) return "state is neither a buffer, nor has it other names";
  if (state.dtype != DType::float32) return "state is of float32";
  const auto type = state.init.find("type");
  const auto value = state.init.find("value");
  const bool number = state.init.size() == 2 && type != state.init.end() && *type == "constant" && value != state.init.end() &&
                      value->is_number() && std::isfinite(value->get<double>());
  const bool zeros = state.init.size() == 1 && type != state.init.end() && *type == "zeros";
  if (!number && !zeros) return "'init' must be {\"type\": \"constant\", \"value\": a number} or {\"type\": \"zeros\"}";
  return std::nullopt;
}

std::optional<std::string> problem_of_update(const Update& update, const CheckScope& scope) {
  const auto parameter = scope.parameters.find(update.name);
  const auto state = scope.state.find(update.name);
  if (parameter == scope.parameters.end() && state == scope.state.end())
    return "there is no parameter, buffer or state " + in_quotes(update.name);
  const Parameter& target = parameter != scope.parameters.end() ? *parameter->second : *state->second;
  const Value& value = scope.program.values[static_cast<size_t>(update.value)];
  if (value.dtype != target.dtype || value.shape != Shape(target.shape.begin(), target.shape.end()))
    return "'" + value.name + "' has another dtype or shape than '" + update.name + "', which it replaces";
  const bool shares = value.layout.kind == ValueLayout::sharded;
  if (value.place.kind == Place::region && value.layout.kind != ValueLayout::replicated && !shares)
    return "'" + value.name + "' lives in a region and isn't the same on each replica; an update is one value";
  for (const Value& home : scope.program.values) {
    const bool keeps = home.role != Value::temporary && home.source == update.name;
    if (keeps && (home.layout.kind == ValueLayout::sharded) != shares)
      return "'" + update.name + "' and '" + value.name + "', which replaces it, aren't both in shares";
  }
  return std::nullopt;
}

Result<void> check_training(const Plan& plan, const std::string& file) {
  const auto refuse = [&](const std::string& message) { return Error({file, 0, 0}, message); };
  std::unordered_set<std::string> names;
  for (const Parameter& parameter : plan.parameters) {
    if (parameter.transient) return refuse("parameters: '" + parameter.name + "' is transient, as state alone may be");
    names.insert(parameter.name);
    names.insert(parameter.aliases.begin(), parameter.aliases.end());
  }
  for (size_t i = 0; i < plan.state.size(); ++i) {
    const std::string what = "state[" + std::to_string(i) + "]: '" + plan.state[i].name + "' ";
    if (names.contains(plan.state[i].name)) return refuse(what + "is a parameter's name");
    if (i > 0 && plan.state[i - 1].transient && !plan.state[i].transient) return refuse(what + "follows what is transient");
  }
  if (!plan.infer.updates.empty() || !plan.infer_graph.updates.empty())
    return refuse("programs.infer.updates: only a training program updates parameters");
  if (is_empty(plan.train)) {
    if (!plan.state.empty()) return refuse("state: there is no training program that it could be of");
    if (!is_empty(plan.train_graph)) return refuse("graphs.train: there is no training program");
    if (!is_empty(plan.accumulate) || !is_empty(plan.update))
      return refuse("programs: there is no training program beside those of micro-batches");
    if (!is_empty(plan.accumulate_graph) || !is_empty(plan.update_graph))
      return refuse("graphs: there are no programs of micro-batches");
    return {};
  }
  const auto optimizer = plan.training.find("optimizer");
  if (!plan.training.is_object() || optimizer == plan.training.end() || !optimizer->is_object())
    return refuse("training: a training program needs the section's optimizer");
  if (is_empty(plan.accumulate) != is_empty(plan.update)) return refuse("programs: 'accumulate' and 'update' come together");
  if (is_empty(plan.accumulate) && (!is_empty(plan.accumulate_graph) || !is_empty(plan.update_graph)))
    return refuse("graphs: there are no programs of micro-batches");
  for (const auto& [program, name] :
       {std::pair{&plan.train, "train"}, {&plan.accumulate, "accumulate"}, {&plan.update, "update"}}) {
    if (is_empty(*program)) continue;
    if (auto problem = problem_of_step(*program)) return refuse("programs." + std::string(name) + *problem);
  }
  return {};
}

}  // namespace sheaf
