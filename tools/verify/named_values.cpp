#include "tools/verify/named_values.h"

#include "runtime/ops/traits.h"
#include "tools/verify/step_runner.h"

#include <algorithm>
#include <set>

namespace sheaf {

namespace {

/// The optimiser's state, old or new.
bool of_state(const Program& program, int value) {
  return program.values[static_cast<size_t>(value)].role == Value::state ||
         std::any_of(program.updates.begin(), program.updates.end(),
                     [&](const Update& update) { return update.value == value; });
}

/// The step that makes it reads state.
bool reads_state(const Program& program, int value) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    return std::find(step.outputs.begin(), step.outputs.end(), value) != step.outputs.end() &&
           std::any_of(step.inputs.begin(), step.inputs.end(), [&](int input) { return of_state(program, input); });
  });
}

/// The value that was moved to become `value`, whole or in shares; `value` itself if it was computed where it is, as a sum of
/// several is.
int moved_from(const Program& program, int value) {
  for (auto step = program.steps.rbegin(); step != program.steps.rend(); ++step) {
    const bool moves_it = moves(step->op) && traits(step->op).movement.carries != Carries::summands;
    if (moves_it && step->outputs[0] == value) value = step->inputs[0];
  }
  return value;
}

}  // namespace

std::map<std::string, int> gradients_of(const Plan& plan, const Program& program) {
  std::map<std::string, int> gradients;
  if (plan.training.contains("loss_scale")) return gradients;
  for (const Update& update : program.updates) {
    const auto parameter = std::find_if(plan.parameters.begin(), plan.parameters.end(),
                                        [&](const Parameter& other) { return other.name == update.name && !other.buffer; });
    if (parameter == plan.parameters.end()) continue;
    const Value& updated = program.values[static_cast<size_t>(update.value)];
    // Goes back from the new value through the optimiser's steps, whose other operands are weights, state and settings.
    std::vector<int> from = {moved_from(program, update.value)};
    std::set<int> made_from;
    for (size_t next = 0; next < from.size() && made_from.empty(); ++next) {
      for (const Step& step : program.steps) {
        if (std::find(step.outputs.begin(), step.outputs.end(), from[next]) == step.outputs.end()) continue;
        for (const int input : step.inputs) {
          const Value& value = program.values[static_cast<size_t>(input)];
          const Value& origin = program.values[static_cast<size_t>(moved_from(program, input))];
          if (origin.role != Value::temporary || value.shape != updated.shape) continue;
          // New state, and values computed from state, depend on the gradient too.
          if (of_state(program, input) || reads_state(program, input)) {
            from.push_back(input);
          } else {
            made_from.insert(input);
          }
        }
      }
    }
    // Several: the optimiser's kernel sums a parameter's gradients, and the sum is never stored.
    if (made_from.size() == 1) gradients[update.name] = *made_from.begin();
  }
  return gradients;
}

std::vector<std::pair<std::string, int>> layer_results(const Program& program) {
  std::vector<std::pair<std::string, int>> results;
  std::map<std::string, int> steps;
  for (const Step& step : program.steps) {
    if (step.once || moves(step.op) || step.layer.empty() || is_opaque(program, step, 0)) continue;
    const std::string& layer = step.fused.empty() ? step.layer : step.fused.back();
    ++steps[layer];
    results.emplace_back(layer, step.outputs[0]);
  }
  std::erase_if(results, [&](const auto& result) { return steps[result.first] > 1; });
  return results;
}

}  // namespace sheaf
