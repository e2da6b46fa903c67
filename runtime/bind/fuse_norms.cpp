#include "runtime/bind/fuse_norms.h"

#include "runtime/plan/op_list.h"

#include <algorithm>
#include <string_view>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

bool has_pattern(const Step& step, std::string_view pattern) {
  const auto found = step.attributes.find("pattern");
  return step.op == Op::kernel && found != step.attributes.end() && found->is_string() && found->get<std::string>() == pattern;
}

/// The value that `role` names; -2 where the step has none.
int operand(const Step& step, std::string_view role) {
  const auto found = std::find(step.roles.begin(), step.roles.end(), role);
  return found == step.roles.end() ? -2 : step.inputs[static_cast<size_t>(found - step.roles.begin())];
}

void take_in(Step& step, const Step& other) {
  if (!other.layer.empty() && other.layer != step.layer) step.fused.push_back(other.layer);
  step.fused.insert(step.fused.end(), other.fused.begin(), other.fused.end());
}

}  // namespace

NormFusions::NormFusions(const Program& program) : makers_(program.values.size(), -1), readers_(program.values.size()) {
  const int steps = static_cast<int>(program.steps.size());
  for (int i = 0; i < steps; ++i) {
    for (int input : program.steps[index_of(i)].inputs) readers_[index_of(input)].push_back(i);
    for (int output : program.steps[index_of(i)].outputs) makers_[index_of(output)] = i;
  }
  for (const Output& output : program.outputs) readers_[index_of(output.value)].push_back(steps);
  for (const Update& update : program.updates) readers_[index_of(update.value)].push_back(steps);
  for (int i = 0; i < steps; ++i) {
    if (program.steps[index_of(i)].op == Op::batch_norm_train) fuse_forward(program, i);
  }
  for (int i = 0; i < steps; ++i) {
    if (program.steps[index_of(i)].op == Op::batch_norm_backward) fuse_backward(program, i);
  }
}

const NormFusion* NormFusions::at(int index) const {
  const auto found = fused_.find(index);
  return found == fused_.end() ? nullptr : &found->second;
}

const NormFusion* NormFusions::covering(int index) const {
  const auto found = covered_.find(index);
  return found == covered_.end() ? nullptr : at(found->second);
}

void NormFusions::fuse_forward(const Program& program, int norm) {
  const Step& step = program.steps[index_of(norm)];
  if (step.attributes.contains("activation")) return;
  const int y = step.outputs[0];
  const auto& readers = readers_[index_of(y)];
  if (readers.size() != 1 || readers[0] == static_cast<int>(program.steps.size())) return;
  const Step& next = program.steps[index_of(readers[0])];
  if (!(next.place == step.place) || next.outputs.size() != 1) return;
  NormFusion fusion{step, norm, norm};
  if (has_pattern(next, "add_relu") && next.inputs.size() == 2) {
    const int residual = next.inputs[next.inputs[0] == y ? 1 : 0];
    if (residual == y || makers_[index_of(residual)] >= norm) return;  // it isn't there yet
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

void NormFusions::fuse_backward(const Program& program, int gradient) {
  const Step& step = program.steps[index_of(gradient)];
  const int dy = operand(step, "dy"), x = operand(step, "x");
  const int relu = makers_[index_of(dy)];
  if (relu < 0 || step.attributes.contains("activation")) return;
  const Step& before = program.steps[index_of(relu)];
  if (!has_pattern(before, "relu_backward") || before.inputs.size() != 2 || !(before.place == step.place)) return;
  // The ReLU is the one that is fused into the batch norm of the same x.
  const int forward = makers_[index_of(
      step.inputs[index_of(static_cast<int>(std::find(step.roles.begin(), step.roles.end(), "mean") - step.roles.begin()))])];
  const auto found = fused_.find(forward);
  if (found == fused_.end() || found->second.step.inputs[0] != x || found->second.step.outputs[0] != before.inputs[1]) return;
  for (int input : step.inputs) {
    if (input != dy && makers_[index_of(input)] >= relu) return;  // it isn't there yet where the ReLU's gradient is made
  }
  NormFusion fusion{step, gradient, forward};
  std::replace(fusion.step.inputs.begin(), fusion.step.inputs.end(), dy, before.inputs[0]);
  fusion.step.inputs.push_back(kMask);
  fusion.step.roles.push_back("workspace");
  fusion.step.attributes["activation"] = {{"kind", "relu"}};
  if (readers_[index_of(dy)].size() > 1) fusion.step.outputs.push_back(dy);
  take_in(fusion.step, before);
  fusion.step.notes.push_back(
      "the gradient of the ReLU before it is done by the same operation, which this device's library has");
  found->second.step.outputs.push_back(kMask);
  covered_[gradient] = relu;
  fused_[relu] = std::move(fusion);
}

}  // namespace sheaf
