#include "runtime/check/check_caller.h"

#include "runtime/plan/needed_steps.h"

#include <algorithm>
#include <vector>

namespace sheaf {
namespace {

std::vector<const Value*> given(const Program& program, Value::Role role) {
  std::vector<const Value*> values;
  for (const Value& value : program.values)
    if (value.role == role) values.push_back(&value);
  return values;
}

bool alike(const Value& a, const Value& b) { return a.dtype == b.dtype && a.shape == b.shape; }

}  // namespace

Result<void> check_caller(const Plan& plan, const std::string& file) {
  const auto refuse = [&](const std::string& message) { return Error({file, 0, 0}, message); };
  const Program &forward = plan.forward, &backward = plan.backward;
  const auto absent = [](const Program& program) { return program.values.empty() && program.outputs.empty(); };
  if (absent(forward) != absent(backward)) return refuse("programs: 'forward' and 'backward' come together");
  if (absent(forward)) {
    if (!absent(plan.forward_graph) || !absent(plan.backward_graph))
      return refuse("graphs: there are no programs 'forward' and 'backward'");
    return {};
  }
  if (!forward.updates.empty() || !backward.updates.empty())
    return refuse("programs: 'forward' and 'backward' update nothing; new values are their outputs");
  if (!given(forward, Value::target).empty()) return refuse("programs.forward: has no targets");
  if (!std::ranges::equal(given(forward, Value::input), given(backward, Value::input),
                          [](const Value* a, const Value* b) { return a->name == b->name && alike(*a, *b); }))
    return refuse("programs: 'forward' and 'backward' have the same inputs");
  const auto given_at_once = [](const Value& v) { return v.role == Value::input || v.role == Value::setting; };
  const auto target = std::ranges::find(backward.values, Value::target, &Value::role);
  if (std::any_of(target, backward.values.end(), given_at_once))
    return refuse("programs.backward.values: targets, which are given last, come after inputs and settings");
  const auto value = [](const Program& program, const Output& output) -> const Value& {
    return program.values[static_cast<size_t>(output.value)];
  };
  const auto same = [&](const Output& a, const Output& b) {
    return a.name == b.name && alike(value(forward, a), value(backward, b));
  };
  if (backward.outputs.size() < forward.outputs.size() ||
      !std::equal(forward.outputs.begin(), forward.outputs.end(), backward.outputs.begin(), same))
    return refuse("programs.backward.outputs: the outputs of 'forward' come first");
  const std::vector<bool> first = needed_steps(backward, forward.outputs.size());
  for (size_t i = 0; i < first.size(); ++i) {
    if (!first[i]) continue;
    for (const int input : backward.steps[i].inputs)
      if (backward.values[static_cast<size_t>(input)].role == Value::target)
        return refuse("programs.backward.steps[" + std::to_string(i) + "]: an output of 'forward' needs a target");
  }
  return {};
}

}  // namespace sheaf
