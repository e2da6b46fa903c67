#include "runtime/plan/plan.h"

#include <algorithm>

namespace sheaf {

Value::Purpose purpose_of_state(const Plan& plan, const std::string& name) {
  const bool sum = std::any_of(plan.state.begin(), plan.state.end(),
                               [&](const Parameter& state) { return state.name == name && state.transient; });
  return sum ? Value::Purpose::gradients : Value::Purpose::optimizer;
}

Value::Purpose purpose_of(const Plan& plan, const Value& value) {
  switch (value.role) {
    case Value::parameter:
    case Value::buffer: return Value::Purpose::parameters;
    case Value::state: return purpose_of_state(plan, value.source);
    case Value::input:
    case Value::target:
    case Value::setting: return Value::Purpose::communication;
    case Value::temporary: break;
  }
  return value.purpose;
}

}  // namespace sheaf
