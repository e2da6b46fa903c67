// The format that a variable is kept in: what the operation that reads it first asks for, so that no step reorders it for
// that reader; where that casts it (a weight of a bf16 plan), what the one asks for that reads it cast. Its gradient mostly
// comes in that format too, and updates, which are element by element, work in any.
#include "runtime/bind/expand.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// Its bytes are its elements: element-wise work needs no more to know.
bool without_padding(const TensorSpec& spec) {
  return spec.bytes == static_cast<size_t>(element_count(spec)) * size_of(spec.dtype);
}

bool contains(const std::vector<int>& list, int i) { return std::find(list.begin(), list.end(), i) != list.end(); }

/// Whether the step is a generated kernel that goes element by element, wherever they lie.
bool elementwise(const Plan& plan, const Step& step) {
  const auto kernel = std::find_if(plan.kernels.begin(), plan.kernels.end(),
                                   [&](const Kernel& described) { return described.name == step.kernel; });
  return step.op == Op::kernel && kernel != plan.kernels.end() && kernel->elementwise;
}

/// Hands all of its operand on as it lies in memory.
bool only_moves(Op op) { return op == Op::print || (traits(op).passes_on && traits(op).movement.carries == Carries::whole); }

}  // namespace

bool Expansion::read_by_index(const std::string& name) const {
  std::set<int> carriers;  // values that are the variable, or copies of it
  for (size_t v = 0; v < context_.program.values.size(); ++v) {
    const Value& value = context_.program.values[v];
    if (value.role != Value::temporary && value.source == name) carriers.insert(static_cast<int>(v));
  }
  for (const Step& step : context_.program.steps) {
    const auto reads = [&](int input) { return carriers.contains(input); };
    if (std::none_of(step.inputs.begin(), step.inputs.end(), reads)) continue;
    if (only_moves(step.op)) carriers.insert(step.outputs.begin(), step.outputs.end());
    if (step.op != Op::kernel) continue;
    if (!elementwise(context_.plan, step)) return true;
    if (step.inputs.size() == 1) carriers.insert(step.outputs.begin(), step.outputs.end());
  }
  return false;
}

Expansion::Unsettled* Expansion::unsettled(int tensor) {
  const int root = graph_.root(tensor).tensor;
  for (auto& [variable, group] : unsettled_) {
    if (contains(group.roots, root) || contains(group.casts, root)) return &group;
  }
  return nullptr;
}

bool Expansion::follow_cast(const Step& step, int input, const Prepared& prepared) const {
  if (prepared.inputs.size() != 1 || prepared.outputs.size() != 1 || !elementwise(context_.plan, step)) return false;
  const TensorSpec &from = prepared.inputs[0], &to = prepared.outputs[0];
  const int root = graph_.root(input).tensor;
  const auto holds = [&](const auto& entry) { return contains(entry.second.roots, root); };
  return std::any_of(unsettled_.begin(), unsettled_.end(), holds) && from.plain() && to.plain() && from.dims == to.dims &&
         graph_.tensors[index_of(input)].spec.dims == from.dims && graph_.tensors[index_of(input)].spec.plain();
}

void Expansion::settle_format(int tensor, const TensorSpec& want, const Spot& spot) {
  Unsettled* group = unsettled_.empty() ? nullptr : unsettled(tensor);
  if (!group) return;
  const Unsettled settled = *group;
  const int variable = settled.roots[0];
  unsettled_.erase(variable);
  const TensorSpec have = graph_.tensors[index_of(variable)].spec;
  Device& home = context_.devices.device(graph_.tensors[index_of(variable)].lane);
  const bool whole = graph_.tensors[index_of(tensor)].spec.dims == have.dims && want.dims == have.dims;
  const bool there = share_formats(home, context_.devices.device(spot.lane));
  if (!whole || !there || want.plain() || !without_padding(want)) return;
  const TensorSpec keep = want.dtype == have.dtype ? want : home.same_layout(want, have.dtype);
  if (keep.plain() || !without_padding(keep)) return;
  for (const int cast : settled.casts)
    if (home.same_layout(keep, graph_.tensors[index_of(cast)].spec.dtype).plain()) return;
  context_.constants.set_format(graph_.tensors[index_of(variable)].node, keep);
  for (size_t t = 0; t < graph_.tensors.size(); ++t) {
    const int root = graph_.root(static_cast<int>(t)).tensor;
    TensorSpec& spec = graph_.tensors[t].spec;
    if (contains(settled.roots, root)) spec = keep;
    if (contains(settled.casts, root)) spec = spec.dtype == want.dtype ? want : home.same_layout(keep, spec.dtype);
  }
  for (int copy : settled.instances) graph_.instances[index_of(copy)].copy_shape = {keep.bytes, 1, 0, 0};
}

void Expansion::offer_formats(const std::vector<int>& inputs, std::vector<TensorSpec>& specs) {
  if (unsettled_.empty()) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!unsettled(inputs[i])) continue;
    const TensorSpec* like = nullptr;
    for (size_t j = 0; j < inputs.size(); ++j) {
      if (unsettled(inputs[j]) || specs[j].dims != specs[i].dims || specs[j].dtype != specs[i].dtype) continue;
      const bool variable = graph_.tensors[index_of(graph_.root(inputs[j]).tensor)].variable;
      if (!like || variable) like = &specs[j];
      if (variable) break;
    }
    if (like && !like->plain() && without_padding(*like)) specs[i] = *like;
  }
}

}  // namespace sheaf
