#include "runtime/bind/fuse_norms.h"

#include "runtime/plan/pattern.h"

#include <algorithm>
#include <string_view>

namespace sheaf {
namespace {

const Step& step_of(const Program& program, StepId id) { return program.steps[id.index()]; }

void take_in(Step& step, const Step& other) {
  if (!other.layer.empty() && other.layer != step.layer) step.fused.push_back(other.layer);
  step.fused.insert(step.fused.end(), other.fused.begin(), other.fused.end());
}

}  // namespace

ValueId operand(const Step& step, std::string_view role) {
  const auto found = std::find(step.roles.begin(), step.roles.end(), role);
  return found == step.roles.end() ? ValueId() : ValueId(step.inputs[static_cast<size_t>(found - step.roles.begin())]);
}

NormFusions::NormFusions(const Program& program) : makers_(program.values.size()), readers_(program.values.size()) {
  const IdRange<StepId> steps(program.steps.size());
  const StepId end(program.steps.size());
  for (StepId i : steps) {
    for (int input : step_of(program, i).inputs) readers_[ValueId(input)].push_back(i);
    for (int output : step_of(program, i).outputs) makers_[ValueId(output)] = i;
  }
  for (const Output& output : program.outputs) readers_[ValueId(output.value)].push_back(end);
  for (const Update& update : program.updates) readers_[ValueId(update.value)].push_back(end);
  for (StepId i : steps)
    if (step_of(program, i).op == Op::batch_norm_train) fuse_forward(program, i);
  for (StepId i : steps)
    if (step_of(program, i).op == Op::batch_norm_backward) fuse_backward(program, i);
  for (StepId i : steps)
    if (step_of(program, i).op == Op::batch_norm_train) drop_bias(program, i);
}

const NormFusion* NormFusions::at(StepId step) const {
  const auto found = fused_.find(step);
  return found == fused_.end() ? nullptr : &found->second;
}

const NormFusion* NormFusions::covering(StepId step) const {
  const auto found = covered_.find(step);
  return found == covered_.end() ? nullptr : at(found->second);
}

void NormFusions::fuse_forward(const Program& program, StepId norm) {
  const Step& step = step_of(program, norm);
  if (step.attributes.contains("activation")) return;
  const int y = step.outputs[0];
  const auto& readers = readers_[ValueId(y)];
  if (readers.size() != 1 || readers[0].index() == program.steps.size()) return;
  const Step& next = step_of(program, readers[0]);
  if (!(next.place == step.place) || next.outputs.size() != 1) return;
  NormFusion fusion{step, norm, norm};
  if (has_pattern(next, "add_relu") && next.inputs.size() == 2) {
    const int residual = next.inputs[next.inputs[0] == y ? 1 : 0];
    if (residual == y || makers_[ValueId(residual)] >= norm) return;  // it isn't there yet
    fusion.step.inputs.push_back(residual);
    fusion.step.roles.push_back("residual");
  } else if (!has_pattern(next, "relu")) {
    return;
  }
  fusion.step.attributes["activation"] = {{"kind", "relu"}};
  fusion.step.outputs[0] = next.outputs[0];
  take_in(fusion.step, next);
  fusion.step.notes.push_back("the ReLU after it is done by the same operation, which this device's library has");
  covered_[readers[0]] = norm;
  fused_[norm] = std::move(fusion);
}

void NormFusions::drop_bias(const Program& program, StepId norm) {
  const Step& step = step_of(program, norm);
  const ValueId x = operand(step, "x");
  const StepId maker = makers_[x];
  if (!maker) return;
  const Step& conv = step_of(program, maker);
  const ValueId bias = operand(conv, "bias");
  if (conv.op != Op::conv || !bias || operand(conv, "residual") || conv.attributes.contains("activation")) return;
  if (!(conv.place == step.place)) return;
  // No other step may see x, and the gradient must know that its mean is of x with the bias.
  std::vector<StepId> norms = {norm};
  for (StepId reader : readers_[x]) {
    if (reader == norm) continue;
    if (reader.index() == program.steps.size()) return;
    const Step& other = step_of(program, reader);
    if (other.op != Op::batch_norm_backward || operand(other, "x") != x || operand(other, "mean").number() != step.outputs[1])
      return;
    norms.push_back(reader);
  }
  NormFusion plain{conv, maker, norm};
  const auto role = std::find(conv.roles.begin(), conv.roles.end(), "bias") - conv.roles.begin();
  plain.step.roles.erase(plain.step.roles.begin() + role);
  plain.step.inputs.erase(plain.step.inputs.begin() + role);
  plain.step.notes.push_back(
      "without its bias, which the batch norm behind it would remove again: it is added to the mean there instead");
  fused_[maker] = std::move(plain);
  for (StepId one : norms) {
    // A gradient may be computed where the one before it was.
    const auto covered = covered_.find(one);
    const StepId place = covered == covered_.end() ? one : covered->second;
    NormFusion& fusion = fused_.try_emplace(place, NormFusion{step_of(program, one), one, norm}).first->second;
    fusion.step.inputs.push_back(bias.number());
    fusion.step.roles.push_back("x_bias");
    if (one != norm) drop_bias_gradient(program, norm, one);
  }
}

void NormFusions::drop_bias_gradient(const Program& program, StepId norm, StepId norm_gradient) {
  const ValueId dx(step_of(program, norm_gradient).outputs[0]);
  for (StepId reader : readers_[dx]) {
    if (reader.index() == program.steps.size()) continue;
    const Step& step = step_of(program, reader);
    if (step.op != Op::conv_backward_weight || operand(step, "dy") != dx || step.outputs.size() != 2) continue;
    if (!(step.place == step_of(program, norm).place)) continue;
    NormFusion plain{step, reader, norm, {ValueId(step.outputs[1])}};
    plain.step.outputs.pop_back();
    plain.step.attributes["bias"] = false;
    plain.step.notes.push_back(
        "without its bias's gradient: the batch norm behind the convolution takes the bias away again, so that is zero");
    fused_[reader] = std::move(plain);
  }
}

void NormFusions::fuse_backward(const Program& program, StepId gradient) {
  const Step& step = step_of(program, gradient);
  const ValueId dy = operand(step, "dy"), x = operand(step, "x"), mean = operand(step, "mean");
  const StepId relu = makers_[dy];
  if (!relu || step.attributes.contains("activation")) return;
  const Step& before = step_of(program, relu);
  const bool sum = has_pattern(before, "add_relu_backward") && before.inputs.size() == 3;
  if (!sum && !(has_pattern(before, "relu_backward") && before.inputs.size() == 2)) return;
  if (!(before.place == step.place)) return;
  // The ReLU must be the one fused into the batch norm of the same x.
  const auto found = fused_.find(makers_[mean]);
  if (found == fused_.end()) return;
  NormFusion& forward = found->second;
  if (forward.step.inputs[0] != x.number() || forward.step.outputs[0] != before.inputs.back()) return;
  for (int input : step.inputs) {
    if (input != dy.number() && makers_[ValueId(input)] >= relu)
      return;  // it isn't there yet when the ReLU's gradient is computed
  }
  NormFusion fusion{step, gradient, forward.forward};
  std::replace(fusion.step.inputs.begin(), fusion.step.inputs.end(), dy.number(), before.inputs[0]);
  if (sum) {
    fusion.step.inputs.push_back(before.inputs[1]);
    fusion.step.roles.push_back("dy2");
  }
  fusion.step.inputs.push_back(left_by(forward.forward, Left::mask));
  fusion.step.roles.push_back("workspace");
  fusion.step.attributes["activation"] = {{"kind", "relu"}};
  if (readers_[dy].size() > 1) fusion.step.outputs.push_back(dy.number());
  take_in(fusion.step, before);
  fusion.step.notes.push_back(
      std::string(sum ? "the gradients of the ReLU before it and of the sum" : "the gradient of the ReLU before it is") +
      (sum ? " behind that are" : "") + " done by the same operation, which this device's library has");
  forward.step.outputs.push_back(left_by(forward.forward, Left::mask));
  covered_[gradient] = relu;
  fused_[relu] = std::move(fusion);
}

}  // namespace sheaf
