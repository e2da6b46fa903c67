#include "runtime/bind/expand/training.h"

#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {

Result<std::vector<TensorId>> Training::summands(StepId id, const Spot& target) {
  const Step& step = builder_.step(id);
  const ValueId value(step.inputs[0]);
  const std::string& name = builder_.name(ValueId(step.outputs[0]));
  SHEAF_ASSIGN(const auto sources, replicas_.spots(builder_.context().value(value).place, step.layer, step.location));
  // Each replica's lane brings its own into the format that the first one's is in, if its backend has that; the target reads
  // them where they are.
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
  return add_sum(id, std::move(parts), targets.front());
}

Result<void> Training::add_sum(StepId id, std::vector<TensorId> parts, const Spot& target) {
  const Step& step = builder_.step(id);
  const ValueId result(step.outputs[0]);
  for (size_t i = 1; i < parts.size(); ++i) {  // what came from another memory is plain
    auto alike = formats_.in_format(parts[i], builder_.spec(parts[0]), id, target);
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
  auto prepared = calls_.prepare(sum, parts, {spec}, id, target);
  if (!prepared) return replicas_.located(std::move(prepared.error()), step, target);
  const TensorId total = builder_.add(prepared->outputs[0], builder_.name(result), target.lane);
  builder_.define(result, target.replica, total);
  builder_.add(Instance::LibraryCall{call_of(std::move(*prepared))}, id, target, std::move(parts), {total});
  return {};
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
    SHEAF_ASSIGN(const auto places, replicas_.spots(builder_.context().value(value).place, name, {}));
    Spot spot = places.front();
    SHEAF_ASSIGN(const auto variable, weights_.find(update.name, spot));
    variables.fix(variable);
    const TensorSpec want = builder_.spec(variable);
    const LaneId home = builder_.tensor(variable).lane;
    TensorId made = builder_.at(value, 0);
    if (!want.plain() && !builder_.same_memory(builder_.tensor(made).lane, home)) {
      spot.lane = home;
      SHEAF_ASSIGN(made, movement_.moved(made, name, {}, spot));
    }
    SHEAF_ASSIGN(const auto alike, formats_.in_format(made, want, {}, spot));
    builder_.program.updates.push_back({variable, alike});
  }
  return {};
}

}  // namespace sheaf
