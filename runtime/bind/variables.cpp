// What training programs have besides: weights that change, sums over replicas, the check of the loss, updates.
#include "runtime/bind/expand.h"
#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

}  // namespace

Result<int> Expansion::add_weight(const std::string& name, const Spot& spot) {
  const bool variable = !context_.program.updates.empty();
  const auto known = variables_.find(name);
  if (variable && known != variables_.end()) return known->second;
  ConstantStore& constants = context_.constants;
  SHEAF_ASSIGN(auto node, constants.variable(name));
  if (known == variables_.end()) constants.set_home(node, context_.devices.device(spot.lane));
  // The lane that works where it lives: the host's, else that which asks, else any.
  const auto lives_with = [&](int lane) {
    return context_.devices.device(lane).memory_space() == constants.memory_space(node);
  };
  int lane = 0;
  if (!lives_with(0)) lane = spot.lane;
  for (int other = 1; other < context_.devices.lanes() && !lives_with(lane); ++other) lane = other;
  if (variable && !lives_with(lane)) {
    return Error("'" + name + "' lives on a device that is not in this device list")
        .note("it was bound to other devices before: what trains it has to use those, or another copy of the model");
  }
  const int root = add_tensor(constants.spec(node), name, lane);
  graph_.tensors[index_of(root)].node = node;
  graph_.tensors[index_of(root)].variable = variable;
  variables_[name] = root;
  if (variable && !constants.settled(node) && !read_by_index(name)) unsettled_[root].roots = {root};
  return root;
}

Result<Prepared> Expansion::prepare_own(const Step& step, std::vector<int>& inputs, const std::vector<TensorSpec>& outputs,
                                        int index, const Spot& spot) {
  std::vector<TensorSpec> specs;
  for (int input : inputs) specs.push_back(graph_.tensors[index_of(input)].spec);
  const auto constant = std::make_unique<bool[]>(inputs.size());
  SHEAF_ASSIGN(auto prepared, context_.devices.device(spot.lane).prepare({step,
                                                                          context_.plan,
                                                                          specs,
                                                                          outputs,
                                                                          context_.devices.threads(spot.lane),
                                                                          context_.fast_numerics,
                                                                          {constant.get(), inputs.size()},
                                                                          context_.kernels[index_of(spot.lane)].get(),
                                                                          {},
                                                                          0}));
  if (prepared.inputs.size() != inputs.size() || prepared.outputs.size() != outputs.size()) {
    return Error("operation " + op_name(step) + " was prepared for another number of operands");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHEAF_ASSIGN(inputs[i], in_format(inputs[i], prepared.inputs[i], index, spot));
  }
  return prepared;
}

Result<void> Expansion::reduce(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  const Value& value = context_.program.values[index_of(step.outputs[0])];
  SHEAF_ASSIGN(auto sources, spots(context_.program.values[index_of(step.inputs[0])].place, step.layer, step.location));
  SHEAF_ASSIGN(auto targets, spots(step.place, step.layer, step.location));
  const Spot& target = targets.front();
  // Each replica's lane brings its own into the format that the first one's is in, if its backend has that; the target reads
  // them where they are.
  std::vector<int> parts;
  const TensorSpec format = graph_.tensors[index_of(at(step.inputs[0], 0))].spec;
  for (const Spot& spot : sources) {
    Result<int> part = at(step.inputs[0], spot.replica);
    if (share_formats(context_.devices.device(sources.front().lane), context_.devices.device(spot.lane)))
      part = in_format(*part, format, index, spot);
    if (!part) return located(std::move(part.error()), step, spot);
    auto local = moved(*part, value.name, index, target);
    if (!local) return located(std::move(local.error()), step, target);
    parts.push_back(*local);
  }
  return add_sum(index, std::move(parts), target);
}

Result<void> Expansion::add_sum(int index, std::vector<int> parts, const Spot& target) {
  const Step& step = context_.program.steps[index_of(index)];
  const std::string& name = context_.program.values[index_of(step.outputs[0])].name;
  for (size_t i = 1; i < parts.size(); ++i) {  // what came from another memory is plain
    auto alike = in_format(parts[i], graph_.tensors[index_of(parts[0])].spec, index, target);
    if (!alike) return located(std::move(alike.error()), step, target);
    parts[i] = *alike;
  }
  if (parts.size() == 1) {
    define(step.outputs[0], target.replica, parts[0]);
    return {};
  }
  Step sum;
  sum.op = Op::reduce;
  sum.layer = step.layer;
  for (size_t i = 0; i < parts.size(); ++i) sum.roles.push_back("x" + std::to_string(i));
  sum.inputs.assign(parts.size(), step.inputs[0]);
  sum.outputs = step.outputs;
  SHEAF_ASSIGN(auto spec, value_spec(step.outputs[0], target.replica));
  if (element_count(spec) == 0) {
    define(step.outputs[0], target.replica, add_tensor(spec, name, target.lane));
    return {};
  }
  auto prepared = prepare_own(sum, parts, {spec}, index, target);
  if (!prepared) return located(std::move(prepared.error()), step, target);
  const int result = add_tensor(prepared->outputs[0], name, target.lane);
  graph_.tensors[index_of(result)].writers = {static_cast<int>(graph_.instances.size())};
  define(step.outputs[0], target.replica, result);
  add_launch(index, target, std::move(parts), {result}, std::move(*prepared));
  return {};
}

Result<void> Expansion::add_guard(int index) {
  const Step& step = context_.program.steps[index_of(index)];
  if (context_.program.updates.empty() || graph_.guard >= 0) return {};
  const int loss = context_.program.outputs[0].value;
  if (std::find(step.outputs.begin(), step.outputs.end(), loss) == step.outputs.end()) return {};
  SHEAF_ASSIGN(auto places, spots(context_.program.values[index_of(loss)].place, step.layer, step.location));
  const Spot& spot = places.front();
  std::vector<int> inputs = {at(loss, 0)};
  Step check;
  check.op = Op::check_finite;
  check.layer = step.layer;
  check.inputs = {loss};
  check.roles = {"x"};
  auto prepared = prepare_own(check, inputs, {}, index, spot);
  if (!prepared) return located(std::move(prepared.error()), step, spot);
  graph_.guard = static_cast<int>(graph_.instances.size());
  Instance& guard = add_launch(index, spot, std::move(inputs), {}, std::move(*prepared));
  guard.op = Op::check_finite;
  guard.can_fail = true;
  return {};
}

Result<void> Expansion::add_updates() {
  for (const Update& update : context_.program.updates) {
    const Value& value = context_.program.values[index_of(update.value)];
    SHEAF_ASSIGN(auto places, spots(value.place, value.name, {}));
    Spot spot = places.front();
    SHEAF_ASSIGN(auto variable, add_weight(update.name, spot));
    const Tensor& home = graph_.tensors[index_of(variable)];
    unsettled_.erase(variable);
    const TensorSpec want = home.spec;
    const int home_lane = home.lane;
    int made = at(update.value, 0);
    if (!want.plain() && !same_memory(graph_.tensors[index_of(made)].lane, home_lane)) {
      spot.lane = home_lane;
      SHEAF_ASSIGN(made, moved(made, value.name, -1, spot));
    }
    SHEAF_ASSIGN(auto alike, in_format(made, want, -1, spot));
    graph_.updates.push_back({variable, alike});
  }
  return {};
}

}  // namespace sheaf
