#include "tools/cli/random_ranges.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"
#include "runtime/training/loss_section.h"

#include <algorithm>
#include <set>

namespace sheaf {
namespace {

/// The number of entries of the smallest table that `input`'s elements index; 0 if there is none.
int64_t table_rows(const Program& program, int input) {
  std::set<int> same = {input};  // values that hold the input's elements
  int64_t rows = 0;
  for (const Step& step : program.steps) {
    if (step.inputs.empty() || !same.contains(step.inputs[0])) continue;
    if (traits(step.op).passes_on) same.insert(step.outputs.begin(), step.outputs.end());
    const bool lookup = step.op == Op::kernel && step.attributes.contains("status");
    if (!lookup || step.inputs.size() < 2) continue;
    const auto& table = program.values[static_cast<size_t>(step.inputs[1])].shape;
    const auto dim = step.attributes.value("lookup_dim", size_t{0});
    if (dim >= table.size() || !table[dim].is_static()) continue;
    rows = rows == 0 ? table[dim].constant : std::min(rows, table[dim].constant);
  }
  return rows;
}

}  // namespace

std::map<std::string, RandomRange> random_ranges(const Plan& plan) {
  std::map<std::string, RandomRange> ranges;
  for (const Program* program : {&plan.infer, &plan.train}) {
    for (size_t i = 0; i < program->values.size(); ++i) {
      const Value& value = program->values[i];
      if (value.role != Value::input && value.role != Value::target) continue;
      const int64_t rows = table_rows(*program, static_cast<int>(i));
      int64_t& below = ranges[value.name].below;
      if (rows > 0) below = below == 0 ? rows : std::min(below, rows);
    }
  }
  if (const auto loss = loss_section(plan)) {  // a plan without a loss has no target either
    if (loss->inputs[1].output) return ranges;
    RandomRange& target = ranges[loss->inputs[1].name];
    const ElementLoss* element = loss->element();
    const bool of_classes = element && element->of_classes();
    if (loss->classes || of_classes) target.below = loss->class_count;
    target.probabilities = loss->probabilities || (element && !of_classes && element->targets != ElementLoss::numbers);
  }
  return ranges;
}

}  // namespace sheaf
