#include "runtime/plan/needed_steps.h"

#include <algorithm>

namespace sheaf {

std::vector<bool> needed_steps(const Program& program, size_t outputs) {
  std::vector<bool> values(program.values.size(), false), steps(program.steps.size(), false);
  for (size_t i = 0; i < std::min(outputs, program.outputs.size()); ++i)
    values[static_cast<size_t>(program.outputs[i].value)] = true;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    steps[i] = std::ranges::any_of(step.outputs, [&](int output) { return values[static_cast<size_t>(output)]; });
    if (!steps[i]) continue;
    for (const int input : step.inputs) values[static_cast<size_t>(input)] = true;
  }
  return steps;
}

}  // namespace sheaf
