#include "runtime/bind/expand/builder.h"

namespace sheaf {

TensorId Builder::add(TensorSpec spec, std::string name, LaneId lane, Tensor::Place place) {
  return program.tensors.add({std::move(spec), std::move(name), lane, place});
}

TensorId Builder::add_view(TensorId of, size_t offset, TensorSpec spec, std::string name, LaneId lane) {
  return program.tensors.add({std::move(spec), std::move(name), lane, Tensor::View{of, offset}, tensor(of).writers});
}

InstanceId Builder::add(Instance::Work work, StepId step, const Spot& spot, std::vector<TensorId> inputs,
                        std::vector<TensorId> outputs) {
  Instance instance;
  instance.step = step;
  instance.replica = spot.in_region ? spot.replica : -1;
  instance.entry = spot.entry;
  instance.lane = spot.lane;
  instance.work = std::move(work);
  instance.inputs = std::move(inputs);
  instance.outputs = std::move(outputs);
  for (TensorId output : instance.outputs) program.tensors[output].writers.push_back(program.instances.next());
  return program.instances.add(std::move(instance));
}

void Builder::fill(TensorId of, size_t begin, size_t end, StepId step, const Spot& spot) {
  if (begin == end || devices().in_host_memory(spot.lane)) return;
  const size_t bytes = end - begin;
  const TensorSpec gap = plain_tensor(DType::uint8, {static_cast<int64_t>(bytes)});
  const TensorId source = add(gap, "zeros", spot.lane, Tensor::Stored{store().zeros(gap, device(spot.lane)).node});
  add(Instance::Copy{{bytes, 1, 0, 0}, 0, begin}, step, spot, {source}, {of});
}

TensorId Builder::at(ValueId value, int replica) const {
  const auto& tensors = program.values[value];
  return tensors.size() == 1 ? tensors[0] : tensors[static_cast<size_t>(replica)];
}

void Builder::define(ValueId value, int replica, TensorId tensor) {
  auto& tensors = program.values[value];
  const auto index = static_cast<size_t>(replica);
  if (tensors.size() <= index) tensors.resize(index + 1);
  tensors[index] = tensor;
}

bool Builder::is_constant(TensorId tensor) const {
  const Tensor& home = program.home(tensor);
  return home.lies<Tensor::Stored>() && !home.variable();
}

StoredRef Builder::stored_ref(TensorId tensor) const {
  const Root root = program.root(tensor);
  return {this->tensor(root.tensor).lies<Tensor::Stored>()->node, root.offset};
}

Instance::Call call_of(Prepared prepared) {
  return {std::move(prepared.executable),     prepared.scratch_bytes,       prepared.can_fail,
          std::move(prepared.implementation), std::move(prepared.reason),   std::move(prepared.uncertain),
          std::move(prepared.in_place),       std::move(prepared.selection)};
}

}  // namespace sheaf
