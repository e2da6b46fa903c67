#include "runtime/verify/named_values.h"

#include "runtime/verify/step_runner.h"

#include <algorithm>

namespace sheaf {

std::map<std::string, int> gradients_of(const Plan& plan, const Program& program) {
  std::map<std::string, int> gradients;
  for (const Update& update : program.updates) {
    const auto parameter = std::find_if(plan.parameters.begin(), plan.parameters.end(),
                                        [&](const Parameter& other) { return other.name == update.name && !other.buffer; });
    if (parameter == plan.parameters.end()) continue;
    const Value& updated = program.values[static_cast<size_t>(update.value)];
    // Back from the new value through the optimiser's steps, whose other operands are weights, state and settings.
    std::vector<int> from = {update.value};
    for (size_t next = 0; next < from.size() && !gradients.contains(update.name); ++next) {
      for (const Step& step : program.steps) {
        if (std::find(step.outputs.begin(), step.outputs.end(), from[next]) == step.outputs.end()) continue;
        for (const int input : step.inputs) {
          const Value& value = program.values[static_cast<size_t>(input)];
          if (value.role != Value::temporary || value.shape != updated.shape) continue;
          // New state is made from the gradient too.
          const bool is_state = std::any_of(program.updates.begin(), program.updates.end(),
                                            [&](const Update& other) { return other.value == input; });
          if (is_state) {
            from.push_back(input);
          } else {
            gradients[update.name] = input;
          }
        }
      }
    }
  }
  return gradients;
}

std::vector<std::pair<std::string, int>> layer_results(const Program& program) {
  std::vector<std::pair<std::string, int>> results;
  std::map<std::string, int> steps;
  for (const Step& step : program.steps) {
    static const char* const kMoves[] = {"scatter", "replicate", "gather", "transfer"};
    const bool moves = std::any_of(std::begin(kMoves), std::end(kMoves), [&](const char* op) { return step.op == op; });
    if (step.once || moves || step.layer.empty() || is_opaque(program, step, 0)) continue;
    const std::string& layer = step.fused.empty() ? step.layer : step.fused.back();
    ++steps[layer];
    results.emplace_back(layer, step.outputs[0]);
  }
  std::erase_if(results, [&](const auto& result) { return steps[result.first] > 1; });
  return results;
}

}  // namespace sheaf
