#include "tools/cli/random_bound.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <set>

namespace sheaf {

int64_t random_bound(const Program& program, const std::string& input) {
  std::set<int> same;  // values that are the input's elements
  for (size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[i].name == input && program.values[i].role != Value::temporary) same.insert(static_cast<int>(i));
  }
  int64_t bound = 0;
  for (const Step& step : program.steps) {
    if (step.inputs.empty() || !same.contains(step.inputs[0])) continue;
    if (traits(step.op).passes_on) same.insert(step.outputs.begin(), step.outputs.end());
    const bool lookup = step.op == Op::kernel && step.attributes.contains("status");
    if (!lookup || step.inputs.size() < 2) continue;
    const auto& table = program.values[static_cast<size_t>(step.inputs[1])].shape;
    if (table.empty() || !table[0].is_static()) continue;
    bound = bound == 0 ? table[0].constant : std::min(bound, table[0].constant);
  }
  return bound;
}

}  // namespace sheaf
