#include "runtime/bind/expand/movements.h"

namespace sheaf {
namespace {

constexpr size_t kOperandAlignment = 16;  ///< docs/cuda.md

}  // namespace

bool Movements::may_lie_at(size_t offset, LaneId lane) const {
  return !builder_.device(lane).info().asynchronous || offset % kOperandAlignment == 0;
}

bool Movements::of_each_rank(TensorId tensor) const {
  return builder_.devices().world() && builder_.program.home(tensor).lies<Tensor::Given>();
}

bool Movements::there_for(TensorId tensor, LaneId lane) const {
  return builder_.same_memory(builder_.tensor(tensor).lane, lane) ||
         (of_each_rank(tensor) && builder_.devices().in_host_memory(lane));
}

bool Movements::crosses(TensorId tensor, LaneId lane) const {
  return messages_.between(builder_.tensor(tensor).lane, lane) && !of_each_rank(tensor);
}

Spot Movements::who_copies(Spot spot, LaneId other) const {
  const DeviceSet& devices = builder_.devices();
  if (devices.in_host_memory(spot.lane) && !devices.in_host_memory(other)) spot.lane = other;
  return spot;
}

Spot Movements::copier(Spot to, LaneId by, LaneId from) const {
  if (by) to.lane = by;
  return who_copies(to, from);
}

Result<TensorId> Movements::constant_moved(TensorId tensor, const std::string& name, const Spot& spot) {
  VariableStore& store = builder_.store();
  Device& device = builder_.device(spot.lane);
  TensorSpec spec = builder_.spec(tensor);
  StoredRef source = builder_.stored_ref(tensor);
  Device& home = store.device(source.node);
  if (!spec.plain() && !share_formats(home, device)) {
    const TensorSpec plain = plain_tensor(spec.dtype, spec.dims);
    SHEAF_ASSIGN(source, store.reorder(source, spec, plain, home));
    spec = plain;
  }
  const StoredRef ref = store.copy_to(source, spec, device);
  return builder_.add(spec, name, spot.lane, Tensor::Stored{ref.node});
}

Result<TensorId> Movements::moved(TensorId tensor, const std::string& name, StepId step, const Spot& spot, LaneId by) {
  const LaneId lane = builder_.tensor(tensor).lane;
  Device& device = builder_.device(spot.lane);
  const bool constant = builder_.is_constant(tensor);
  if (constant && builder_.store().memory_space(builder_.stored_ref(tensor).node) != device.memory_space())
    return constant_moved(tensor, name, spot);
  if (there_for(tensor, spot.lane) || constant) return builder_.add_view(tensor, 0, builder_.spec(tensor), name, spot.lane);
  // Formats belong to a backend, so tensors that cross to a device of another kind are plain.
  TensorId sent = tensor;
  if (!share_formats(builder_.device(lane), device)) {
    Spot source;
    source.lane = lane;
    SHEAF_ASSIGN(sent, formats_.in_plain(tensor, step, source));
  }
  if (crosses(sent, spot.lane)) return messages_.sent(sent, name, step, spot);
  const TensorSpec spec = builder_.spec(sent);
  const TensorId copy = builder_.add(spec, name, spot.lane);
  const InstanceId id = builder_.add(Instance::Copy{{spec.bytes, 1, 0, 0}}, step, copier(spot, by, lane), {sent}, {copy});
  variables_.note_copy(sent, copy, id);
  return copy;
}

Result<void> Movements::replicate(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  for (const Spot& spot : places) {
    auto local = moved(builder_.at(ValueId(step.inputs[0]), spot.replica), builder_.name(result), id, spot);
    if (!local) return replicas_.located(std::move(local.error()), step, spot);
    builder_.define(result, spot.replica, *local);
  }
  return {};
}

}  // namespace sheaf
