#include "runtime/bind/operation_info.h"

#include "runtime/bind/bound_program.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

/// What binding made of a step, or inserted.
Op op_of(const Instance& instance, const Program& program) {
  if (instance.is<Instance::Reorder>()) return Op::reorder;
  if (instance.is<Instance::Check>()) return Op::check_finite;
  if (instance.is<Instance::Send>()) return Op::send;
  if (instance.is<Instance::Receive>()) return Op::receive;
  if (instance.is<Instance::Agree>()) return Op::agree;
  if (const auto* collective = instance.is<Instance::Collective>()) return op_of(collective->kind);
  if (instance.step) return program.steps[instance.step.index()].op;
  return instance.commits ? Op::update : Op::copy;
}

/// How it is computed, and why.
void describe_work(const Instance& instance, OperationInfo& info) {
  if (const Instance::Call* call = instance.call()) {
    info.implementation = call->implementation;
    info.reason = call->reason;
    info.uncertain = call->uncertain;
  } else if (!instance.is<Instance::Print>()) {
    info.implementation = instance.left_out() ? "in place" : "copy";
  }
  if (const auto* fetch = instance.is<Instance::Fetch>())
    info.reason = std::to_string(fetch->parts.size()) + " inputs in one transfer";
  if (const auto* collective = instance.is<Instance::Collective>())
    for (StepId step : collective->steps) info.steps.push_back(step.number());
}

}  // namespace

Op op_of(CollectiveRequest::Kind kind) {
  switch (kind) {
    case CollectiveRequest::broadcast: return Op::broadcast;
    case CollectiveRequest::gather: return Op::gather;
    case CollectiveRequest::reduce: return Op::sum;
  }
  return Op::sum;
}

Cost cost_of(const Plan& plan, const Program& program, const OperationInfo& operation) {
  if (operation.copied) return {0, static_cast<double>(*operation.copied), static_cast<double>(*operation.copied)};
  const bool of_step = operation.step >= 0 && program.steps[static_cast<size_t>(operation.step)].op == operation.op;
  Step inserted;
  inserted.op = operation.op;
  const Step& step = of_step ? program.steps[static_cast<size_t>(operation.step)] : inserted;
  return operation_cost(plan, step, operation.input_specs, operation.output_specs);
}

std::vector<OperationInfo> describe_operations(const BoundProgram& bound, const Program& program, const DeviceSet& devices) {
  std::vector<OperationInfo> operations;
  operations.reserve(bound.instances.size());
  for (const Instance& instance : bound.instances) {
    OperationInfo info;
    info.op = op_of(instance, program);
    info.step = instance.step.number();
    if (instance.step) {
      const Step& step = program.steps[instance.step.index()];
      const auto* kernel = std::get_if<Instance::KernelCall>(&instance.work);
      info.kernel = kernel ? kernel->kernel : step.kernel;
      if (!instance.is<Instance::Collective>()) info.layer = step.layer;
    }
    info.replica = instance.replica;
    info.lane = devices.name(instance.lane);
    describe_work(instance, info);
    if (const auto* copy = instance.is<Instance::Copy>())
      info.copied = copy->left_out ? 0 : copy->shape.rows * copy->shape.row_bytes;
    for (TensorId tensor : instance.inputs) {
      const Tensor& home = bound.home(tensor);
      info.inputs.push_back(bound.tensors[tensor].name);
      info.input_specs.push_back(bound.tensors[tensor].spec);
      info.from_weights.push_back(home.lies<Tensor::Stored>() && !home.variable());
    }
    for (TensorId tensor : instance.outputs) {
      info.outputs.push_back(bound.tensors[tensor].name);
      info.output_specs.push_back(bound.tensors[tensor].spec);
    }
    operations.push_back(std::move(info));
  }
  return operations;
}

}  // namespace sheaf
