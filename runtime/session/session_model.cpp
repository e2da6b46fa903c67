// Models: loading, and weights from the caller.
#include "runtime/base/suggest.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/check/reader.h"
#include "runtime/session/session_state.h"

#include <cstring>
#include <optional>

namespace sheaf {
namespace {

/// `name` without its parts that are "module", which DataParallel adds.
std::string without_module(const std::string& name) {
  std::string result;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t dot = std::min(name.find('.', begin), name.size());
    const std::string part = name.substr(begin, dot - begin);
    if (part != "module") result += (result.empty() ? "" : ".") + part;
    begin = dot + 1;
  }
  return result;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool counts_batches(const std::string& name) {
  constexpr std::string_view suffix = "num_batches_tracked";
  return name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

/// Where each of a model's parameters is found among given names.
class ParameterNames {
 public:
  struct Match {
    size_t parameter;
    bool alias;  ///< the name is that of a layer tied to the parameter's
  };

  explicit ParameterNames(const std::vector<Parameter>& parameters) {
    for (size_t i = 0; i < parameters.size(); ++i) {
      add(parameters[i].name, {i, false});
      for (const std::string& alias : parameters[i].aliases) add(alias, {i, true});
    }
  }

  std::optional<Match> find(const std::string& name) const {
    if (const auto found = exact_.find(name); found != exact_.end()) return found->second;
    const auto found = stripped_.find(without_module(name));
    if (found == stripped_.end() || found->second.parameter == kAmbiguous) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr size_t kAmbiguous = static_cast<size_t>(-1);

  void add(const std::string& name, Match match) {
    exact_.emplace(name, match);
    const auto [at, fresh] = stripped_.emplace(without_module(name), match);
    // Two parameters' names that differ in `module.` alone: only the full ones serve.
    if (!fresh && at->second.parameter != match.parameter) at->second.parameter = kAmbiguous;
  }
  std::map<std::string, Match> exact_, stripped_;
};

/// Of tensors of the same dtype and shape.
bool same_values(const TensorView& a, const TensorView& b) {
  const size_t bytes = plain_tensor(a.dtype, a.shape).bytes;
  return bytes == 0 || std::memcmp(a.data, b.data, bytes) == 0;
}

}  // namespace

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

Result<Model> Model::load(const std::string& file) {
  auto plan = load_plan(file);
  if (!plan) return plan.error();
  return from_plan(std::move(*plan));
}

Result<Model> Model::from_plan(Plan plan) {
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
}

const std::string& Model::name() const { return state_->plan.name; }
const std::vector<ValueInfo>& Model::inputs() const { return state_->inputs; }
const std::vector<ValueInfo>& Model::outputs() const { return state_->outputs; }
const std::vector<ParameterInfo>& Model::parameters() const { return state_->parameters; }
const Plan& Model::plan() const { return state_->plan; }

Result<void> Model::read_parameter(size_t index, void* plain) const {
  const std::string& name = state_->parameters[index].name;
  if (!state_->constants->set()) return Error("parameter '" + name + "' was never set");
  const auto constants = state_->constants->lock();
  auto variable = state_->constants->variable(name);
  if (!variable) return variable.error();
  return state_->constants->read(*variable, plain);
}

Result<void> Model::set_parameters(std::span<const TensorView> tensors) {
  const auto& parameters = state_->parameters;
  const ParameterNames names(state_->plan.parameters);
  std::vector<const TensorView*> found(parameters.size(), nullptr), tied(parameters.size(), nullptr);
  std::vector<const TensorView*> mentioned(parameters.size(), nullptr);  // misshapen ones too
  std::vector<std::string> problems, known;
  for (const ParameterInfo& parameter : parameters) known.push_back(parameter.name);
  for (const TensorView& tensor : tensors) {
    const auto match = names.find(tensor.name);
    if (!match) {
      if (counts_batches(tensor.name)) continue;
      const auto near = problems.size() < 20 ? nearest(tensor.name, known) : std::nullopt;
      problems.push_back("superfluous: '" + tensor.name + "'" + (near ? "; did you mean '" + *near + "'?" : ""));
      continue;
    }
    const ParameterInfo& parameter = parameters[match->parameter];
    const TensorView* before = mentioned[match->parameter];
    if (before && !match->alias) {
      problems.push_back("given twice: '" + parameter.name + "', as '" + before->name + "' and '" + tensor.name + "'");
    }
    if (!match->alias) mentioned[match->parameter] = &tensor;
    if (tensor.dtype != parameter.dtype || tensor.shape != parameter.shape) {
      problems.push_back("misshapen: '" + tensor.name + "' is " + described(tensor.dtype, tensor.shape) + "; expected " +
                         described(parameter.dtype, parameter.shape));
      mentioned[match->parameter] = &tensor;
      continue;
    }
    (match->alias ? tied : found)[match->parameter] = &tensor;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {  // PyTorch saves tied parameters under all their names
    if (!tied[i]) continue;
    if (!found[i]) {
      found[i] = tied[i];
    } else if (!same_values(*found[i], *tied[i])) {
      problems.push_back("tied, but of different values: '" + found[i]->name + "' and '" + tied[i]->name + "'");
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!found[i] && !mentioned[i] && !counts_batches(parameters[i].name)) {
      problems.push_back("missing: '" + parameters[i].name + "', " + described(parameters[i].dtype, parameters[i].shape));
    }
  }
  if (!problems.empty()) {
    Error error("the weights don't fit model '" + state_->plan.name + "': " + std::to_string(problems.size()) +
                (problems.size() == 1 ? " problem" : " problems"));
    for (std::string& problem : problems) error.note(std::move(problem));
    return error;
  }
  const auto constants = state_->constants->lock();
  std::vector<char> zeros;
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto variable = state_->constants->variable(parameters[i].name);
    if (!variable) return variable.error();
    if (!found[i]) zeros.assign(plain_tensor(parameters[i].dtype, parameters[i].shape).bytes, 0);
    if (auto ok = state_->constants->write(*variable, found[i] ? found[i]->data : zeros.data()); !ok) return ok;
  }
  state_->constants->changed();
  return {};
}

}  // namespace sheaf
