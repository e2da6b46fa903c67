#include "codegen/plan/purposes.h"

#include "runtime/ops/traits.h"

namespace sheaf::codegen {
namespace {

using Purpose = sheaf::Value::Purpose;

/// A replica's copy of a parameter is still a parameter.
Purpose moved(const sheaf::Value& from) {
  if (from.role == sheaf::Value::parameter || from.role == sheaf::Value::buffer) return Purpose::parameters;
  const bool kept =
      from.purpose == Purpose::parameters || from.purpose == Purpose::derived || from.purpose == Purpose::gradients;
  return kept ? from.purpose : Purpose::communication;
}

Purpose made(const Step& step, const sheaf::Value& value) {
  if (step.once) return Purpose::derived;
  if (is_workspace(step, value)) return Purpose::workspace;
  return step.phase == Phase::update ? Purpose::optimizer : Purpose::activations;
}

}  // namespace

void add_purposes(Program& program, const std::set<std::string>& accumulators) {
  for (const Step& step : program.steps) {
    for (int output : step.outputs) {
      sheaf::Value& value = program.values[output];
      if (value.purpose == Purpose::gradients) continue;
      value.purpose = moves(step.op) ? moved(program.values[step.inputs[0]]) : made(step, value);
    }
  }
  std::set<std::string> states;
  for (const sheaf::Value& value : program.values)
    if (value.role == sheaf::Value::state) states.insert(value.source);
  for (const Update& update : program.updates) {
    sheaf::Value& value = program.values[update.value];
    if (value.role != sheaf::Value::temporary) continue;
    value.purpose = accumulators.contains(update.name) ? Purpose::gradients
                    : states.contains(update.name)     ? Purpose::optimizer
                                                       : Purpose::parameters;
  }
}

}  // namespace sheaf::codegen
