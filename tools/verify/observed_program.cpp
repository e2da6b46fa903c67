#include "tools/verify/observed_program.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/training/step_program.h"
#include "tools/verify/slices.h"

#include <cstring>

namespace sheaf {

Result<NamedTensors> settings_of(const Plan& plan, int64_t step, uint64_t seed) {
  StepSettings settings;
  settings.step = step;
  settings.seed = static_cast<int64_t>(seed);
  if (!plan.training.is_object()) return NamedTensors();
  const Json optimizer = plan.training.value("optimizer", Json::object());
  settings.set_rates(plan, optimizer.value("lr", 0.0), {0, step - 1});
  NamedTensors scalars;
  for (const Value& value : plan.train.values) {
    const void* data = value.role == Value::setting ? settings.find(value.name) : nullptr;
    if (!data) continue;
    SHEAF_ASSIGN(auto scalar, make_tensor(value.dtype, {}));
    std::memcpy(scalar.bytes.data(), data, size_of(value.dtype));
    scalars[value.name] = std::move(scalar);
  }
  return scalars;
}

Result<std::unique_ptr<ObservedProgram>> ObservedProgram::bind(const Plan& plan, const Program& program,
                                                               const NamedTensors& variables, const VerifyOptions& options) {
  std::unique_ptr<ObservedProgram> made(new ObservedProgram(program));
  made->store_ = std::make_shared<VariableStore>(cpu_device(), plan.parameters, plan.state);
  SHEAF_TRY(made->set(variables));
  BindRequest request{plan, program, options.devices, {}, made->store_, options.batch, options.bind.fast_numerics};
  request.deterministic = options.bind.deterministic;
  request.deadline = Seconds(options.bind.deadline_seconds);
  request.observe = true;
  std::map<const Device*, std::shared_ptr<const Kernels>> loaded;
  for (LaneId lane : options.devices->lanes()) {
    auto& kernels = loaded[&options.devices->device(lane)];
    if (!kernels) {
      SHEAF_ASSIGN(kernels, options.devices->device(lane).load_kernels(plan));
    }
    request.kernels.push_back(kernels);
  }
  SHEAF_ASSIGN(made->binding_, Binding::bind(request));
  for (const TensorSpec& spec : made->binding_->outputs()) {
    SHEAF_ASSIGN(auto tensor, make_tensor(spec.dtype, spec.dims));
    made->results_.push_back(std::move(tensor));
  }
  for (HostTensor& result : made->results_) made->outputs_.push_back(result.bytes.data());
  return made;
}

Result<void> ObservedProgram::set(const NamedTensors& variables) {
  for (const auto& [name, tensor] : variables) {
    SHEAF_ASSIGN(auto variable, store_->variable(name));
    const TensorSpec& described = store_->spec(variable);
    if (tensor.shape != described.dims || tensor.dtype != described.dtype)
      return Error("'" + name + "' is " + shape_text(tensor.shape) + "; the plan has " + shape_text(described.dims));
    SHEAF_TRY(store_->write(variable, tensor.bytes.data()));
  }
  store_->changed();
  return {};
}

Result<HostTensor> ObservedProgram::variable(const std::string& name) {
  SHEAF_ASSIGN(auto variable, store_->variable(name));
  auto tensor = make_tensor(store_->spec(variable).dtype, store_->spec(variable).dims);
  if (!tensor) return tensor;
  SHEAF_TRY(store_->read(variable, tensor->bytes.data()));
  return tensor;
}

Result<std::vector<const void*>> ObservedProgram::inputs(const NamedTensors& given) const {
  std::vector<const void*> buffers;
  for (const Value& value : program_.values) {
    if (value.role != Value::input && value.role != Value::target && value.role != Value::setting) continue;
    const auto found = given.find(value.name);
    if (found == given.end()) return Error("there is no data for '" + value.name + "'");
    const TensorSpec& spec = binding_->inputs()[buffers.size()];
    if (found->second.shape != spec.dims || found->second.dtype != spec.dtype) {
      return Error("'" + value.name + "' is " + std::string(name_of(found->second.dtype)) + " " +
                   shape_text(found->second.shape) + "; expected " + std::string(name_of(spec.dtype)) + " " +
                   shape_text(spec.dims));
    }
    buffers.push_back(found->second.bytes.data());
  }
  return buffers;
}

Result<std::map<int, HostTensor>> ObservedProgram::capture(const NamedTensors& variables, const NamedTensors& given,
                                                           const std::set<int>& wanted, const Intervention& change) {
  SHEAF_TRY(set(variables));
  SHEAF_ASSIGN(auto buffers, inputs(given));
  std::map<int, std::map<int, HostTensor>> parts;  // by value and replica
  Result<void> problem;
  auto done = binding_->observe(buffers, outputs_, [&](int, std::span<const BoundValue> values) {
    for (const BoundValue& value : values) {
      const bool asked_for = wanted.contains(value.value), may_change = !change.values.empty() &&
                                                                        change.values[static_cast<size_t>(value.value)] &&
                                                                        value.operation >= 0 && !value.constant;
      if (!asked_for && !may_change) continue;
      auto tensor = make_tensor(value.spec.dtype, value.spec.dims);
      problem = tensor ? binding_->read(value, tensor->bytes.data()) : Result<void>(tensor.error());
      if (!problem) return false;
      if (asked_for) parts[value.value].emplace(value.replica, *tensor);
      if (may_change && change.change(value.value, *tensor)) problem = binding_->write(value, tensor->bytes.data());
      if (!problem) return false;
    }
    return true;
  });
  if (!problem) return problem.error();
  if (!done) return done.error();
  std::map<int, HostTensor> whole;
  for (auto& [value, by_replica] : parts) {
    const Value& described = program_.values[static_cast<size_t>(value)];
    const ValueLayout layout = described.layout;
    if (described.place.kind != Place::region || by_replica.size() == 1 || layout.kind == ValueLayout::replicated) {
      whole[value] = std::move(by_replica.begin()->second);
    } else if (layout.kind == ValueLayout::split) {
      std::vector<HostTensor> chunks;
      for (auto& [replica, chunk] : by_replica) chunks.push_back(std::move(chunk));
      SHEAF_ASSIGN(whole[value], concatenate(chunks, layout.dim));
    } else if (layout.kind == ValueLayout::sharded) {
      std::vector<HostTensor> runs;
      for (auto& [replica, run] : by_replica) runs.push_back(std::move(run));
      SHEAF_ASSIGN(whole[value], concatenate(runs, 0));
    }
  }
  for (auto& [value, tensor] : whole) {
    const Value& described = program_.values[static_cast<size_t>(value)];
    if (described.layout.kind != ValueLayout::sharded) continue;
    tensor.shape.clear();
    for (const Extent& extent : described.shape) tensor.shape.push_back(extent.constant);
  }
  return whole;
}

}  // namespace sheaf
