#include "runtime/bind/expand/training.h"

#include "runtime/plan/op_list.h"

#include <algorithm>
#include <optional>
#include <set>

namespace sheaf {

Result<std::vector<TensorId>> Training::summands(StepId id, const Spot& target) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]);
  const std::string& name = builder_.name(ValueId(step.outputs[0]));
  SHEAF_ASSIGN(const auto sources, replicas_.spots(builder_.context().value(value).place, step.layer, step.location));
  // Each replica's lane converts its own part into the format of the first one's, if its backend has that; the target reads the
  // parts where they are.
  std::vector<TensorId> parts;
  const TensorSpec format = builder_.spec(builder_.at(value, 0));
  for (const Spot& spot : sources) {
    Result<TensorId> part = builder_.at(value, spot.replica);
    if (share_formats(builder_.device(sources.front().lane), builder_.device(spot.lane)))
      part = formats_.in_format(*part, format, id, spot);
    if (!part) return replicas_.located(std::move(part.error()), step, spot);
    auto local = movement_.moved(*part, name, id, target);
    if (!local) return replicas_.located(std::move(local.error()), step, target);
    parts.push_back(*local);
  }
  return parts;
}

Result<void> Training::reduce(StepId id) {
  SHEAF_ASSIGN(const auto targets, replicas_.spots(builder_.step(id)));
  SHEAF_ASSIGN(auto parts, summands(id, targets.front()));
  return sums_.add(id, std::move(parts), targets.front());
}

Result<void> Training::all_reduce(StepId id) {
  SHEAF_ASSIGN(const bool by_owners, owners_sums_.takes(id));
  if (by_owners) return owners_sums_.add(id);
  const ValueId result(builder_.step(id).outputs[0]);
  std::optional<int> added;  // on this replica; a separate memory gets a copy
  return sums_.once_in_each_memory(id, [&](const Spot& spot) -> Result<void> {
    if (added) {
      SHEAF_ASSIGN(const auto copy, movement_.moved(builder_.at(result, *added), builder_.name(result), id, spot));
      builder_.define(result, spot.replica, copy);
      return {};
    }
    added = spot.replica;
    SHEAF_ASSIGN(auto parts, summands(id, spot));
    return sums_.add(id, std::move(parts), spot);
  });
}

bool Training::alike(StepId id) const {
  const BindContext& context = builder_.context();
  const auto replicated = [&](int value) { return context.value(ValueId(value)).layout.kind == ValueLayout::replicated; };
  const auto in_region = [&](const Update& update) { return context.value(ValueId(update.value)).place.kind == Place::region; };
  const Step& step = builder_.step(id);
  return std::all_of(step.outputs.begin(), step.outputs.end(), replicated) &&
         std::any_of(context.program.updates.begin(), context.program.updates.end(), in_region);
}

Result<void> Training::call_alike(StepId id) {
  return sums_.once_in_each_memory(id, [&](const Spot& spot) -> Result<void> {
    auto called = calls_.call(id, spot);
    if (!called) return replicas_.located(std::move(called.error()), builder_.step(id), spot);
    return {};
  });
}

Result<void> Training::check_loss(StepId id) {
  const BindContext& context = builder_.context();
  const Step& step = builder_.step(id);
  if (context.program.updates.empty() || builder_.program.guard) return {};
  const int loss = context.program.outputs[0].value;
  if (std::find(step.outputs.begin(), step.outputs.end(), loss) == step.outputs.end()) return {};
  SHEAF_ASSIGN(const auto places, replicas_.spots(context.value(ValueId(loss)).place, step.layer, step.location));
  const Spot& spot = places.front();
  std::vector<TensorId> inputs = {builder_.at(ValueId(loss), 0)};
  Step check;
  check.op = Op::check_finite;
  check.layer = step.layer;
  check.inputs = {loss};
  check.roles = {"x"};
  auto prepared = calls_.prepare(check, inputs, {}, id, spot);
  if (!prepared) return replicas_.located(std::move(prepared.error()), step, spot);
  prepared->can_fail = true;
  builder_.program.guard = builder_.add(Instance::Check{call_of(std::move(*prepared))}, id, spot, std::move(inputs), {});
  return {};
}

Result<void> Training::add_updates(VariableFormats& variables) {
  for (const Update& update : builder_.context().program.updates) {
    const ValueId value(update.value);
    const std::string& name = builder_.name(value);
    SHEAF_ASSIGN(const auto places, replicas_.spots(builder_.context().value(value), name, {}));
    std::set<TensorId> updated;
    for (const Spot& replica : places) {
      SHEAF_ASSIGN(const auto variable, weights_.find(value, update.name, replica));
      if (updated.insert(variable).second) SHEAF_TRY(add_update(variable, value, replica, variables));
    }
  }
  return {};
}

Result<void> Training::add_update(TensorId variable, ValueId value, Spot spot, VariableFormats& variables) {
  const std::string& name = builder_.name(value);
  variables.fix(variable);
  const TensorSpec want = builder_.spec(variable);
  const LaneId home = builder_.tensor(variable).lane;
  TensorId made = builder_.at(value, spot.replica);
  const LaneId maker = builder_.tensor(made).lane;
  const bool sent = builder_.devices().rank(maker) != builder_.devices().rank(home);
  if ((!want.plain() || sent) && !builder_.same_memory(maker, home)) {
    spot.lane = home;
    SHEAF_ASSIGN(made, movement_.moved(made, name, {}, spot));
  }
  SHEAF_ASSIGN(const auto alike, formats_.in_format(made, want, {}, spot));
  builder_.program.updates.push_back({variable, alike});
  return {};
}

}  // namespace sheaf
