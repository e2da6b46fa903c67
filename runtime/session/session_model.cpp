// Models: loading, and what they say of themselves.
#include "runtime/base/exception.h"
#include "runtime/base/extent_product.h"
#include "runtime/base/suggest.h"
#include "runtime/check/lengths.h"
#include "runtime/cpu/cpu_device.h"
#include "sheaf/tensor.h"
#include "runtime/session/model_state.h"

#include <algorithm>

namespace sheaf {

std::string described(DType dtype, std::span<const int64_t> shape) {
  return std::string(name_of(dtype)) + " " + shape_text(shape);
}

ValueInfo describe_value(const Value& value, std::string name, std::span<const Length> lengths) {
  const auto is_length = [&](const std::string& symbol) {
    return std::ranges::find(lengths, symbol, &Length::name) != lengths.end();
  };
  ValueInfo info{std::move(name), value.dtype, value.shape, -1};
  for (size_t i = 0; i < value.shape.size() && info.batch_dim < 0; ++i) {
    if (!std::ranges::all_of(symbols_in(value.shape[i]), is_length)) info.batch_dim = static_cast<int>(i);
  }
  return info;
}

Model::Model(std::shared_ptr<ModelState> state) : state_(std::move(state)) {}

Result<Model> Model::load(const std::string& file) {
  SHEAF_ASSIGN(auto plan, SharedPlan::load(file));
  return from_plan(std::move(plan));
}

Result<Model> Model::from_plan(SharedPlan plan) try {
  auto state = std::make_shared<ModelState>(std::move(plan));
  const Plan& made = state->plan;
  state->lengths = lengths_of(made);
  for (const Value& value : made.infer.values) {
    if (value.role == Value::input || value.role == Value::target)
      state->inputs.push_back(describe_value(value, value.name, state->lengths));
  }
  for (const Output& output : made.infer.outputs) {
    state->outputs.push_back(describe_value(made.infer.values[static_cast<size_t>(output.value)], output.name, state->lengths));
  }
  for (const Parameter& parameter : made.weights()) {
    state->parameters.push_back({parameter.name, parameter.dtype, parameter.shape, parameter.buffer});
  }
  state->store = std::make_shared<VariableStore>(cpu_device(), made.parameters, made.state);
  return Model(std::move(state));
} catch (...) {
  return error_of_exception();
}

const std::string& Model::name() const { return state_->plan.name(); }
const std::vector<ValueInfo>& Model::inputs() const { return state_->inputs; }
const std::vector<ValueInfo>& Model::outputs() const { return state_->outputs; }
const std::vector<Length>& Model::lengths() const { return state_->lengths; }
const std::vector<ParameterInfo>& Model::parameters() const { return state_->parameters; }
const SharedPlan& Model::plan() const { return state_->plan; }

Result<void> ModelState::read(const ParameterInfo& variable, std::span<std::byte> plain) {
  if (const size_t bytes = plain_tensor(variable.dtype, variable.shape).bytes; plain.size() != bytes) {
    return Error("'" + variable.name + "' is " + described(variable.dtype, variable.shape) + ", " + std::to_string(bytes) +
                 " bytes; the buffer given for it has " + std::to_string(plain.size()));
  }
  const auto lock = store->lock();
  SHEAF_ASSIGN(auto node, store->variable(variable.name));
  return plain.empty() ? Result<void>() : store->read(node, plain.data());
}

Result<void> Model::read_parameter(size_t index, std::span<std::byte> plain) const try {
  if (index >= parameters().size()) {
    return Error("model '" + name() + "' has " + std::to_string(parameters().size()) + " parameters; there is no number " +
                 std::to_string(index));
  }
  if (!state_->store->set()) return Error("parameter '" + parameters()[index].name + "' was never set");
  return state_->read(parameters()[index], plain);
} catch (...) {
  return error_of_exception();
}

Result<HostTensor> Model::read_parameter(std::string_view name) const try {
  const auto found = std::ranges::find(parameters(), name, &ParameterInfo::name);
  if (found == parameters().end()) {
    std::vector<std::string> known;
    for (const ParameterInfo& parameter : parameters()) known.push_back(parameter.name);
    const auto near = nearest(std::string(name), known);
    return Error("model '" + this->name() + "' has no parameter '" + std::string(name) + "'" +
                 (near ? "; did you mean '" + *near + "'?" : ""));
  }
  SHEAF_ASSIGN(auto tensor, make_tensor(found->dtype, found->shape));
  SHEAF_TRY(read_parameter(static_cast<size_t>(found - parameters().begin()), tensor.bytes));
  return tensor;
} catch (...) {
  return error_of_exception();
}

Result<std::vector<NamedTensor>> Model::read_parameters() const try {
  std::vector<NamedTensor> tensors;
  for (const ParameterInfo& parameter : parameters()) {
    SHEAF_ASSIGN(auto tensor, read_parameter(parameter.name));
    tensors.push_back({parameter.name, std::move(tensor)});
  }
  return tensors;
} catch (...) {
  return error_of_exception();
}

}  // namespace sheaf
