// Tensors in other formats: where an operation wants one that its operand does not have, it reads a reordered copy.
#include "runtime/bind/expand.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

std::string name_of(const TensorSpec& spec) { return spec.plain() ? "plain" : spec.format->name(); }

}  // namespace

Result<int> Expansion::in_format(int tensor, const TensorSpec& want, int step, const Spot& spot) {
  settle_format(tensor, want, spot);
  const TensorSpec have = graph_.tensors[index_of(tensor)].spec;
  if (same_format(have, want)) return tensor;
  const Root root = graph_.root(tensor);
  const Tensor& home = graph_.tensors[index_of(root.tensor)];
  if (home.variable && home.spec.dims == have.dims && same_format(home.spec, have) && same_memory(home.lane, spot.lane)) {
    return variable_in_format(root.tensor, want, step, spot);
  }
  for (const auto& [spec, copy] : reordered_[index_of(tensor)]) {
    if (same_format(spec, want) && graph_.tensors[index_of(copy)].lane == spot.lane) return copy;
  }
  if (!is_constant(tensor)) return add_reorder(tensor, want, step, spot);
  SHEAF_ASSIGN(auto ref, context_.constants.reorder(constant_ref(tensor), have, want, context_.devices.device(spot.lane)));
  const int copy = add_tensor(want, graph_.tensors[index_of(tensor)].name, spot.lane);
  graph_.tensors[index_of(copy)].node = ref.node;
  reordered_[index_of(tensor)].emplace_back(want, copy);
  return copy;
}

Result<int> Expansion::variable_in_format(int variable, const TensorSpec& want, int step, const Spot& spot) {
  int copy = -1;
  for (const auto& [spec, known] : reordered_[index_of(variable)]) {
    if (same_format(spec, want) && same_memory(graph_.tensors[index_of(known)].lane, spot.lane)) copy = known;
  }
  if (copy < 0) {
    Spot where = spot;
    where.lane = lane_for_reorder(spot.lane, want.bytes);
    SHEAF_ASSIGN(copy, add_reorder(variable, want, step, where));
    // Before the loss is known, all lanes begin with these; later, memory is better spent on what is kept until then.
    graph_.instances.back().early = context_.devices.lanes() > 1 && graph_.guard < 0;
  }
  if (graph_.tensors[index_of(copy)].lane == spot.lane) return copy;
  return add_view(copy, 0, want, graph_.tensors[index_of(copy)].name, spot.lane);
}

int Expansion::lane_for_reorder(int lane, size_t bytes) {
  const DeviceSet& devices = context_.devices;
  reordering_.resize(index_of(devices.lanes()), 0);
  int least = lane;
  for (int other = 1; other < devices.lanes(); ++other) {  // not the host's lane, which has no cores of its own
    if (same_memory(lane, other) && reordering_[index_of(other)] < reordering_[index_of(least)]) least = other;
  }
  reordering_[index_of(least)] += bytes;
  return least;
}

Result<int> Expansion::add_reorder(int tensor, const TensorSpec& want, int step, const Spot& spot) {
  const TensorSpec have = graph_.tensors[index_of(tensor)].spec;
  SHEAF_ASSIGN(auto prepared,
               context_.devices.device(spot.lane).prepare_reorder(have, want, context_.devices.threads(spot.lane)));
  const int copy = add_tensor(want, graph_.tensors[index_of(tensor)].name, spot.lane);
  graph_.tensors[index_of(copy)].writers = {static_cast<int>(graph_.instances.size())};
  prepared.implementation = "reorder " + name_of(have) + " to " + name_of(want);
  prepared.reason = reason_for_reorder(tensor, want, step);
  prepared.in_place.clear();
  prepared.can_fail = false;
  add_launch(step, spot, {tensor}, {copy}, std::move(prepared)).op = Op::reorder;
  reordered_[index_of(tensor)].emplace_back(want, copy);
  return copy;
}

std::string Expansion::reason_for_reorder(int tensor, const TensorSpec& want, int step) const {
  const auto step_in_words = [&](int index) {
    const Step& step = context_.program.steps[index_of(index)];
    return (step.layer.empty() ? "" : "layer '" + step.layer + "', ") + "operation " +
           (step.kernel.empty() ? to_string(step.op) : step.kernel);
  };
  const Tensor& from = graph_.tensors[index_of(tensor)];
  const Tensor& home = graph_.tensors[index_of(graph_.root(tensor).tensor)];
  std::string reason = "'" + from.name + "' ";
  if (!from.writers.empty() && graph_.instances[index_of(from.writers.front())].step >= 0) {
    reason += "was made by " + step_in_words(graph_.instances[index_of(from.writers.front())].step);
  } else {
    reason += home.variable ? "is a variable, kept" : home.input >= 0 ? "is given by the caller" : "lies";
  }
  reason += " as " + name_of(from.spec) + "; ";
  if (step < 0)
    return reason + (want.plain() ? "what leaves the program is plain, and so are most variables"
                                  : "the variable that it is for is kept as " + name_of(want));
  const Op op = context_.program.steps[index_of(step)].op;
  if (want.plain() && traits(op).movement.carries == Carries::chunks)
    return reason + to_string(op) + " cuts and joins rows of plain tensors";
  if (want.plain() && op == Op::view) return reason + "a view (" + step_in_words(step) + ") is of elements in row-major order";
  return reason + step_in_words(step) + " takes it as " + name_of(want);
}

Result<int> Expansion::in_plain(int tensor, int step, const Spot& spot) {
  const TensorSpec& have = graph_.tensors[index_of(tensor)].spec;
  return in_format(tensor, plain_tensor(have.dtype, have.dims), step, spot);
}

}  // namespace sheaf
