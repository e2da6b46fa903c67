#include "runtime/bind/expand/formats.h"

#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

namespace sheaf {
namespace {

std::string name_of(const TensorSpec& spec) { return spec.plain() ? "plain" : spec.format->name(); }
/// For a tensor that becomes `other`, or was made from it.
std::string name_of(const TensorSpec& spec, const TensorSpec& other) {
  return spec.dtype == other.dtype ? name_of(spec) : std::string(sheaf::name_of(spec.dtype));
}

std::string in_words(const Step& step) {
  return (step.layer.empty() ? "" : "layer '" + step.layer + "', ") + "operation " +
         (step.kernel.empty() ? to_string(step.op) : step.kernel);
}

}  // namespace

Result<TensorId> Formats::in_format(TensorId tensor, const TensorSpec& want, StepId step, const Spot& spot) {
  variables_.settle(tensor, want, spot);
  const TensorSpec have = builder_.spec(tensor);
  if (same_form(have, want)) return tensor;
  const TensorId root = builder_.program.root(tensor).tensor;
  const Tensor& home = builder_.tensor(root);
  if (home.variable() && home.spec.dims == have.dims && same_form(home.spec, have) &&
      builder_.same_memory(home.lane, spot.lane)) {
    return variable_in_format(root, want, step, spot);
  }
  for (const auto& [spec, copy] : reordered_[tensor]) {
    if (same_form(spec, want) && builder_.tensor(copy).lane == spot.lane) return copy;
  }
  if (!builder_.is_constant(tensor)) return add_reorder(tensor, want, step, spot);
  SHEAF_ASSIGN(const auto ref, builder_.store().reorder(builder_.stored_ref(tensor), have, want, builder_.device(spot.lane)));
  const TensorId copy = builder_.add(want, builder_.tensor(tensor).name, spot.lane, Tensor::Stored{ref.node});
  reordered_[tensor].emplace_back(want, copy);
  return copy;
}

Result<TensorId> Formats::in_plain(TensorId tensor, StepId step, const Spot& spot) {
  const TensorSpec& have = builder_.spec(tensor);
  return in_format(tensor, plain_tensor(have.dtype, have.dims), step, spot);
}

Result<void> Formats::bring(std::vector<TensorId>& inputs, const std::vector<TensorSpec>& wanted, StepId step,
                            const Spot& spot) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHEAF_ASSIGN(inputs[i], in_format(inputs[i], wanted[i], step, spot));
  }
  return {};
}

Result<TensorId> Formats::variable_in_format(TensorId variable, const TensorSpec& want, StepId step, const Spot& spot) {
  TensorId copy;
  for (const auto& [spec, known] : reordered_[variable]) {
    if (same_form(spec, want) && builder_.same_memory(builder_.tensor(known).lane, spot.lane)) copy = known;
  }
  if (!copy) {
    Spot where = spot;
    where.lane = lane_for_reorder(spot.lane, want.bytes);
    SHEAF_ASSIGN(copy, add_reorder(variable, want, step, where));
    // All lanes begin with these before the loss is known; later, memory is better spent on what is kept until then.
    builder_.program.instances.back().early = builder_.devices().lanes().size() > 1 && !builder_.program.guard;
  }
  if (builder_.tensor(copy).lane == spot.lane) return copy;
  return builder_.add_view(copy, 0, want, builder_.tensor(copy).name, spot.lane);
}

LaneId Formats::lane_for_reorder(LaneId lane, size_t bytes) {
  reordering_.resize(builder_.devices().lanes().size(), 0);
  LaneId least = lane;
  for (LaneId other : builder_.devices().lanes()) {
    // The host has no cores of its own; in the backward pass what a lane for messages does comes after slow messages.
    if (other == kHostLane || builder_.devices().messenger(other)) continue;
    if (builder_.same_memory(lane, other) && reordering_[other] < reordering_[least]) least = other;
  }
  reordering_[least] += bytes;
  return least;
}

Result<TensorId> Formats::add_reorder(TensorId tensor, const TensorSpec& want, StepId step, const Spot& spot) {
  const TensorSpec have = builder_.spec(tensor);
  SHEAF_ASSIGN(auto prepared, builder_.device(spot.lane).prepare_reorder(have, want, builder_.devices().threads(spot.lane)));
  prepared.implementation =
      (have.dtype == want.dtype ? "reorder " : "conversion of ") + name_of(have, want) + " to " + name_of(want, have);
  prepared.reason = reason_for_reorder(tensor, want, step);
  prepared.in_place.clear();
  prepared.can_fail = false;
  const TensorId copy = builder_.add(want, builder_.tensor(tensor).name, spot.lane);
  builder_.add(Instance::Reorder{call_of(std::move(prepared))}, step, spot, {tensor}, {copy});
  reordered_[tensor].emplace_back(want, copy);
  return copy;
}

std::string Formats::reason_for_reorder(TensorId tensor, const TensorSpec& want, StepId step) const {
  const Tensor& from = builder_.tensor(tensor);
  const Tensor& home = builder_.program.home(tensor);
  const StepId maker = from.writers.empty() ? StepId() : builder_.program.instances[from.writers.front()].step;
  std::string reason = "'" + from.name + "' ";
  if (maker) {
    reason += "was made by " + in_words(builder_.step(maker));
  } else {
    reason += home.variable() ? "is a variable, kept" : home.lies<Tensor::Given>() ? "is given by the caller" : "lies";
  }
  reason += " as " + name_of(from.spec, want) + "; ";
  if (from.spec.dtype != want.dtype && maker == step && maker) return reason + "the plan has it as " + name_of(want, from.spec);
  if (!step)
    return reason + (want.plain() ? "what leaves the program is plain, and so are most variables"
                                  : "the variable that it is for is kept as " + name_of(want));
  const Op op = builder_.step(step).op;
  if (want.plain() && traits(op).movement.carries == Carries::chunks)
    return reason + to_string(op) + " cuts and joins rows of plain tensors";
  if (want.plain() && op == Op::view)
    return reason + "a view (" + in_words(builder_.step(step)) + ") is of elements in row-major order";
  return reason + in_words(builder_.step(step)) + " takes it as " + name_of(want, from.spec);
}

}  // namespace sheaf
