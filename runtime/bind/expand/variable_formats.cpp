#include "runtime/bind/expand/variable_formats.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/kernel_lookup.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <set>

namespace sheaf {
namespace {

/// Its bytes are its elements: element-wise work needs no more than that.
bool without_padding(const TensorSpec& spec) {
  return spec.bytes == static_cast<size_t>(element_count(spec)) * size_of(spec.dtype);
}

bool contains(const std::vector<TensorId>& list, TensorId id) { return std::find(list.begin(), list.end(), id) != list.end(); }

/// Whether the step is a generated kernel that works element by element, wherever they are.
bool elementwise(const Plan& plan, const Step& step) {
  const Kernel* kernel = find_kernel(plan, step.kernel);
  return kernel && kernel->elementwise;
}

/// Passes its whole operand on, unchanged in memory.
bool only_moves(Op op) { return op == Op::print || (traits(op).passes_on && traits(op).movement.carries == Carries::whole); }

}  // namespace

void VariableFormats::add(TensorId root, const std::string& name) {
  const NodeId node = builder_.tensor(root).lies<Tensor::Stored>()->node;
  if (!builder_.store().settled(node) && !read_by_index(name)) unsettled_[root].roots = {root};
}

bool VariableFormats::read_by_index(const std::string& name) const {
  const Program& program = builder_.context().program;
  std::set<int> carriers;  // values that are the variable, or copies of it
  for (size_t v = 0; v < program.values.size(); ++v) {
    const Value& value = program.values[v];
    if (value.role != Value::temporary && value.source == name) carriers.insert(static_cast<int>(v));
  }
  for (const Step& step : program.steps) {
    const auto reads = [&](int input) { return carriers.contains(input); };
    if (std::none_of(step.inputs.begin(), step.inputs.end(), reads)) continue;
    if (step.op == Op::shard) return true;
    if (only_moves(step.op)) carriers.insert(step.outputs.begin(), step.outputs.end());
    if (step.op != Op::kernel) continue;
    if (!elementwise(builder_.context().plan, step)) return true;
    if (step.inputs.size() == 1) carriers.insert(step.outputs.begin(), step.outputs.end());
  }
  return false;
}

VariableFormats::Unsettled* VariableFormats::unsettled(TensorId tensor) {
  const TensorId root = builder_.program.root(tensor).tensor;
  for (auto& [variable, group] : unsettled_) {
    if (contains(group.roots, root) || contains(group.casts, root)) return &group;
  }
  return nullptr;
}

bool VariableFormats::follows_cast(const Step& step, TensorId input, const Prepared& prepared) const {
  if (prepared.inputs.size() != 1 || prepared.outputs.size() != 1 || !elementwise(builder_.context().plan, step)) return false;
  const TensorSpec &from = prepared.inputs[0], &to = prepared.outputs[0];
  const TensorId root = builder_.program.root(input).tensor;
  const auto holds = [&](const auto& entry) { return contains(entry.second.roots, root); };
  return std::any_of(unsettled_.begin(), unsettled_.end(), holds) && from.plain() && to.plain() && from.dims == to.dims &&
         builder_.spec(input).dims == from.dims && builder_.spec(input).plain();
}

void VariableFormats::note_cast(TensorId input, TensorId output) { unsettled(input)->casts.push_back(output); }

void VariableFormats::note_copy(TensorId source, TensorId copy, InstanceId instance) {
  Unsettled* group = unsettled(source);
  if (!group) return;
  const bool cast = contains(group->casts, builder_.program.root(source).tensor);
  (cast ? group->casts : group->roots).push_back(copy);
  if (!cast && instance) group->instances.push_back(instance);
}

void VariableFormats::settle(TensorId tensor, const TensorSpec& want, const Spot& spot) {
  Unsettled* group = unsettled_.empty() ? nullptr : unsettled(tensor);
  if (!group) return;
  const Unsettled settled = *group;
  const TensorId variable = settled.roots[0];
  unsettled_.erase(variable);
  BoundProgram& program = builder_.program;
  const TensorSpec have = program.tensors[variable].spec;
  Device& home = builder_.device(program.tensors[variable].lane);
  const bool whole = program.tensors[tensor].spec.dims == have.dims && want.dims == have.dims;
  const bool there = share_formats(home, builder_.device(spot.lane));
  if (!whole || !there || want.plain() || !without_padding(want)) return;
  const TensorSpec keep = want.dtype == have.dtype ? want : home.same_layout(want, have.dtype);
  if (keep.plain() || !without_padding(keep)) return;
  for (const TensorId cast : settled.casts)
    if (home.same_layout(keep, program.tensors[cast].spec.dtype).plain()) return;
  builder_.store().set_format(program.tensors[variable].lies<Tensor::Stored>()->node, keep);
  for (const TensorId t : program.tensors.ids()) {
    const TensorId root = program.root(t).tensor;
    TensorSpec& spec = program.tensors[t].spec;
    if (contains(settled.roots, root)) spec = keep;
    if (contains(settled.casts, root)) spec = spec.dtype == want.dtype ? want : home.same_layout(keep, spec.dtype);
  }
  for (const InstanceId copy : settled.instances)
    std::get<Instance::Copy>(program.instances[copy].work).shape = {keep.bytes, 1, 0, 0};
}

void VariableFormats::offer(const std::vector<TensorId>& inputs, std::vector<TensorSpec>& specs) {
  if (unsettled_.empty()) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!unsettled(inputs[i])) continue;
    const TensorSpec* like = nullptr;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (unsettled(inputs[j]) || specs[j].dims != specs[i].dims || specs[j].dtype != specs[i].dtype) continue;
      const bool variable = builder_.program.home(inputs[j]).variable();
      if (!like || variable) like = &specs[j];
      if (variable) break;
    }
    if (like && !like->plain() && without_padding(*like)) specs[i] = *like;
  }
}

}  // namespace sheaf
