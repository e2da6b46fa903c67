#include "runtime/bind/operation_info.h"

#include "runtime/bind/graph.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

std::string describe_tensor(const Tensor& tensor) {
  std::string text = tensor.name + " " + std::string(name_of(tensor.spec.dtype)) + " ";
  for (size_t i = 0; i < tensor.spec.dims.size(); ++i) text += (i ? "x" : "") + std::to_string(tensor.spec.dims[i]);
  return text + " " + (tensor.spec.plain() ? "plain" : tensor.spec.format->name());
}

}  // namespace

std::vector<OperationInfo> describe_operations(const Graph& graph, const Program& program, const DeviceSet& devices) {
  std::vector<OperationInfo> operations;
  operations.reserve(graph.instances.size());
  for (const Instance& instance : graph.instances) {
    OperationInfo info;
    const bool of_step = instance.step >= 0;
    if (of_step) {
      const Step& step = program.steps[index_of(instance.step)];
      info.op = step.op;
      info.kernel = step.kernel;
      info.layer = step.layer;
    }
    const bool copies = instance.kind == Instance::copy || instance.kind == Instance::fetch;
    if (copies && !of_step) info.op = instance.commits ? Op::update : Op::copy;
    if (instance.op) info.op = *instance.op;
    info.step = instance.step;
    info.steps = instance.steps;
    if (instance.collective >= 0) info.layer.clear();
    info.replica = instance.replica;
    info.lane = devices.name(instance.lane);
    info.implementation = instance.elided ? "in place" : copies ? "copy" : instance.implementation;
    info.reason = instance.reason;
    info.uncertain = instance.uncertain;
    for (int tensor : instance.inputs) {
      const Tensor& home = graph.tensors[index_of(graph.root(tensor).tensor)];
      info.inputs.push_back(describe_tensor(graph.tensors[index_of(tensor)]));
      info.input_specs.push_back(graph.tensors[index_of(tensor)].spec);
      info.from_weights.push_back(home.node >= 0 && !home.variable);
    }
    for (int tensor : instance.outputs) {
      info.outputs.push_back(describe_tensor(graph.tensors[index_of(tensor)]));
      info.output_specs.push_back(graph.tensors[index_of(tensor)].spec);
    }
    operations.push_back(std::move(info));
  }
  return operations;
}

}  // namespace sheaf
