// Models: loading, and what they say of themselves.
#include "runtime/base/exception.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/check/reader.h"
#include "runtime/data/tensor.h"
#include "runtime/session/session_state.h"

namespace sheaf {

std::string described(DType dtype, const std::vector<int64_t>& shape) {
  return std::string(name_of(dtype)) + " " + shape_text(shape);
}

ValueInfo describe_value(const Value& value, std::string name) {
  ValueInfo info{std::move(name), value.dtype, value.shape, -1};
  for (size_t i = 0; i < value.shape.size() && info.batch_dim < 0; ++i) {
    if (!value.shape[i].is_static()) info.batch_dim = static_cast<int>(i);
  }
  return info;
}

Model::Model(std::shared_ptr<State> state) : state_(std::move(state)) {}

Result<Model> Model::load(const std::string& file) try {
  SHEAF_ASSIGN(auto plan, load_plan(file));
  return from_plan(std::move(plan));
} catch (...) {
  return error_of_exception();
}

Result<Model> Model::from_plan(Plan plan) try {
  auto state = std::make_shared<State>();
  state->plan = std::move(plan);
  for (const Value& value : state->plan.infer.values) {
    if (value.role == Value::input || value.role == Value::target) state->inputs.push_back(describe_value(value, value.name));
  }
  for (const Output& output : state->plan.infer.outputs) {
    state->outputs.push_back(describe_value(state->plan.infer.values[static_cast<size_t>(output.value)], output.name));
  }
  for (const Parameter& parameter : state->plan.parameters) {
    state->parameters.push_back({parameter.name, parameter.dtype, parameter.shape, parameter.buffer});
  }
  state->constants = std::make_shared<ConstantStore>(cpu_device(), state->plan.parameters, state->plan.state);
  return Model(std::move(state));
} catch (...) {
  return error_of_exception();
}

const std::string& Model::name() const { return state_->plan.name; }
const std::vector<ValueInfo>& Model::inputs() const { return state_->inputs; }
const std::vector<ValueInfo>& Model::outputs() const { return state_->outputs; }
const std::vector<ParameterInfo>& Model::parameters() const { return state_->parameters; }
const Plan& Model::plan() const { return state_->plan; }

Result<void> Model::read_parameter(size_t index, void* plain) const try {
  const std::string& name = state_->parameters[index].name;
  if (!state_->constants->set()) return Error("parameter '" + name + "' was never set");
  const auto constants = state_->constants->lock();
  SHEAF_ASSIGN(auto variable, state_->constants->variable(name));
  return state_->constants->read(variable, plain);
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
