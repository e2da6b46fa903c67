#include "runtime/bind/rewrites.h"

namespace sheaf {

Result<void> place_outputs(BoundProgram& program, const BindContext& context) {
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const TensorId value = program.outputs[i];
    const TensorId root = program.root(value).tensor;
    const Device& device = context.devices.device(program.tensors[root].lane);
    const bool on_host = device.memory_space() == context.devices.host().memory_space();
    const Tensor::Wanted place{static_cast<int>(i)};
    if (program.covers_planned_root(value) && on_host) {
      program.tensors[root].place = place;
      continue;
    }
    const Tensor& made = program.tensors[value];
    Instance copy;
    // A constant or the caller's input is copied by the host; anything else by the lane that made it, which need not wait.
    copy.lane = !made.writers.empty() || !on_host ? made.lane : kHostLane;
    copy.inputs = {value};
    copy.outputs = {program.tensors.next()};
    copy.work = Instance::Copy{{made.spec.bytes, 1, 0, 0}};
    program.outputs[i] = program.tensors.add({made.spec, made.name, kHostLane, place, {program.instances.next()}});
    program.instances.push_back(std::move(copy));
  }
  return {};
}

}  // namespace sheaf
