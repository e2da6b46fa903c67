#include "runtime/bind/expand/sums.h"

#include <algorithm>

namespace sheaf {

Result<void> Sums::once_in_each_memory(StepId id, const std::function<Result<void>(const Spot&)>& make) {
  const Step& step = builder_.step(id);
  SHEAF_ASSIGN(const auto places, replicas_.spots(step));
  shared_work_.resize(builder_.devices().lanes().size(), 0);
  std::vector<Spot> makers;  // one in each memory
  const auto maker_for = [&](const Spot& spot) {
    return std::find_if(makers.begin(), makers.end(),
                        [&](const Spot& maker) { return builder_.same_memory(maker.lane, spot.lane); });
  };
  for (const Spot& spot : places) {
    const auto maker = maker_for(spot);
    if (maker == makers.end()) makers.push_back(spot);
    else if (shared_work_[spot.lane] < shared_work_[maker->lane]) *maker = spot;
  }
  for (const Spot& maker : makers) {
    SHEAF_TRY(make(maker));
    for (int output : step.outputs)
      shared_work_[maker.lane] += builder_.spec(builder_.at(ValueId(output), maker.replica)).bytes;
  }
  for (const Spot& spot : places) {
    const Spot& maker = *maker_for(spot);
    if (spot.replica == maker.replica) continue;
    for (int output : step.outputs) {
      const ValueId value(output);
      SHEAF_ASSIGN(const auto seen, movement_.moved(builder_.at(value, maker.replica), builder_.name(value), id, spot));
      builder_.define(value, spot.replica, seen);
    }
  }
  return {};
}

Result<void> Sums::add(StepId id, std::vector<TensorId> parts, const Spot& target, const Spot& maker) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  for (size_t i = 1; i < parts.size(); ++i) {  // a value from another memory is plain
    auto alike = formats_.in_format(parts[i], builder_.spec(parts[0]), id, maker);
    if (!alike) return replicas_.located(std::move(alike.error()), step, target);
    parts[i] = *alike;
  }
  if (parts.size() == 1) {
    builder_.define(result, target.replica, parts[0]);
    return {};
  }
  Step sum;
  sum.op = Op::reduce;
  sum.layer = step.layer;
  for (size_t i = 0; i < parts.size(); ++i) sum.roles.push_back("x" + std::to_string(i));
  sum.inputs.assign(parts.size(), step.inputs[0]);
  sum.outputs = step.outputs;
  SHEAF_ASSIGN(const auto spec, replicas_.spec(result, target.replica));
  if (element_count(spec) == 0) {
    builder_.define(result, target.replica, builder_.add(spec, builder_.name(result), target.lane));
    return {};
  }
  auto prepared = calls_.prepare(sum, parts, {spec}, id, maker);
  if (!prepared) return replicas_.located(std::move(prepared.error()), step, target);
  const TensorId total = builder_.add(prepared->outputs[0], builder_.name(result), target.lane);
  builder_.define(result, target.replica, total);
  builder_.add(Instance::LibraryCall{call_of(std::move(*prepared))}, id, maker, std::move(parts), {total});
  return {};
}

}  // namespace sheaf
