// Values of which each replica of a region has a run of elements: made from sums, taken from values that all have, or put
// together again.
#include "runtime/bind/expand/training.h"

namespace sheaf {

TensorId Movements::add_run(StepId id, TensorId whole, ValueId result, const Spot& to, LaneId by) {
  const DType dtype = builder_.spec(whole).dtype;
  const Run run = replicas_.run(result, to);
  const TensorSpec flat = plain_tensor(dtype, {element_count(builder_.spec(whole))});
  const TensorId elements = builder_.add_view(whole, 0, flat, builder_.tensor(whole).name, builder_.tensor(whole).lane);
  return add_chunk(id, elements, 0, static_cast<size_t>(run.begin), plain_tensor(dtype, {run.count}), to, by);
}

Result<void> Movements::shard(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  for (const Spot& spot : places) {
    auto plain = formats_.in_plain(builder_.at(ValueId(step.inputs[0]), spot.replica), id, spot);
    if (!plain) return replicas_.located(std::move(plain.error()), step, spot);
    builder_.define(result, spot.replica, add_run(id, *plain, result, spot));
  }
  return {};
}

Spot Training::messenger(Spot spot) const {
  spot.lane = builder_.devices().messenger_for(spot.lane);
  return spot;
}

Result<void> Training::call_on_shares(StepId id) {
  SHEAF_ASSIGN(const auto places, replicas_.spots(builder_.step(id)));
  for (const Spot& spot : places) {
    auto called = calls_.call(id, messenger(spot));
    if (!called) return replicas_.located(std::move(called.error()), builder_.step(id), spot);
  }
  return {};
}

Result<void> Training::reduce_scatter(StepId id) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]), result(step.outputs[0]);
  SHEAF_ASSIGN(const auto sources, replicas_.spots(builder_.context().value(value), step.layer, step.location));
  std::vector<TensorId> whole;  // by replica: its whole summand, each made plain where it is
  for (const Spot& spot : sources) {
    auto plain = formats_.in_plain(builder_.at(value, spot.replica), id, spot);
    if (!plain) return replicas_.located(std::move(plain.error()), step, spot);
    whole.push_back(*plain);
  }
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  for (const Spot& spot : places) {
    std::vector<TensorId> parts;
    const Spot maker = messenger(spot);
    for (const TensorId each : whole) parts.push_back(movement_.add_run(id, each, result, spot, maker.lane));
    SHEAF_TRY(add_sum(id, std::move(parts), spot, maker));
  }
  return {};
}

Result<void> Training::all_gather(StepId id) {
  const Step& step = builder_.step(id);
  return once_in_each_memory(id, [&](const Spot& spot) -> Result<void> {
    auto whole = joined(id, spot);
    if (!whole) return replicas_.located(std::move(whole.error()), step, spot);
    builder_.define(ValueId(step.outputs[0]), spot.replica, *whole);
    return {};
  });
}

Result<TensorId> Training::joined(StepId id, const Spot& target) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]), result(step.outputs[0]);
  const std::string& name = builder_.name(result);
  SHEAF_ASSIGN(const auto sources, replicas_.spots(builder_.context().value(value), step.layer, step.location));
  SHEAF_ASSIGN(const auto spec, replicas_.spec(result, target.replica));
  if (sources.size() == 1) return builder_.add_view(builder_.at(value, 0), 0, spec, name, target.lane);
  const TensorId whole = builder_.add(spec, name, target.lane);
  const auto rank = [&](const Spot& spot) { return builder_.devices().rank(spot.lane); };
  for (Spot spot : sources) {
    const size_t offset = static_cast<size_t>(replicas_.run(value, spot).begin) * size_of(spec.dtype);
    TensorId part = builder_.at(value, spot.replica);
    const size_t bytes = builder_.spec(part).bytes;
    if (bytes == 0) continue;
    if (rank(spot) != rank(target)) {
      part = messages_.sent_anew(part, builder_.name(value), id, target);
      spot = target;
    }
    // In one memory each replica's lane delivers its run, or makes it in place; from another memory the target's lane fetches
    // it.
    Instance::Copy copy{{bytes, 1, 0, 0}, 0, offset};
    const bool here = builder_.same_memory(spot.lane, target.lane);
    copy.placeable = here && movement_.may_lie_at(offset, spot.lane);
    builder_.add(copy, id, messenger(here ? spot : movement_.who_copies(target, spot.lane)), {part}, {whole});
  }
  return whole;
}

}  // namespace sheaf
