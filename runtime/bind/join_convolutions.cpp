#include "runtime/bind/join_convolutions.h"

#include "runtime/plan/op_list.h"

#include <algorithm>
#include <string_view>

namespace sheaf {
namespace {

void give(Step& step, const char* role, int value) {
  step.roles.emplace_back(role);
  step.inputs.push_back(value);
}

void replace_operand(Step& step, std::string_view role, int value) {
  step.inputs[size_t(std::find(step.roles.begin(), step.roles.end(), role) - step.roles.begin())] = value;
}

}  // namespace

/// Who makes and who reads each value; the end of the program reads what leaves it.
struct ConvNorms::Readers {
  IdVector<ValueId, StepId> makers;
  IdVector<ValueId, std::vector<StepId>> of;

  explicit Readers(const Program& program) : makers(program.values.size()), of(program.values.size()) {
    for (const StepId i : IdRange<StepId>(program.steps.size())) {
      for (int input : program.steps[i.index()].inputs) of[ValueId(input)].push_back(i);
      for (int output : program.steps[i.index()].outputs) makers[ValueId(output)] = i;
    }
    const StepId end(program.steps.size());
    for (const Output& output : program.outputs) of[ValueId(output.value)].push_back(end);
    for (const Update& update : program.updates) of[ValueId(update.value)].push_back(end);
  }
};

ConvNorms::ConvNorms(const Program& program, const NormFusions& fusions) : program_(&program) {
  const Readers readers(program);
  for (const StepId i : IdRange<StepId>(program.steps.size()))
    if (program.steps[i.index()].op == Op::batch_norm_train) add(program, fusions, readers, i);
  for (auto& [norm, found] : norms_) {
    // A convolution normalises what it reads only if it makes statistics too: cuDNN's do both, or these alone.
    if (!behind_.contains(found.next)) found.next = found.next_weight = {};
    if (found.next) in_front_[found.next] = in_front_[found.next_weight] = norm;
    if (found.data) data_[found.data] = inside_[found.relu_backward] = inside_[found.norm_backward] = norm;
  }
}

void ConvNorms::add(const Program& program, const NormFusions& fusions, const Readers& readers, StepId norm) {
  const Step& step = program.steps[norm.index()];
  const StepId maker = readers.makers[operand(step, "x")];
  if (!maker) return;
  const NormFusion* plain = fusions.at(maker);
  const Step& conv = plain ? plain->step : program.steps[maker.index()];
  if (conv.op != Op::conv || !(conv.place == step.place) || conv.attributes.contains("activation")) return;
  if (operand(conv, "bias") || operand(conv, "residual") || behind_.contains(maker)) return;
  ConvNorm found{maker, norm, {}, {}, {}, {}, {}};
  find_gradient(program, fusions, readers, found);
  if (const NormFusion* forward = fusions.at(norm); forward && operand(forward->step, "residual"))
    residuals_[norm] = operand(forward->step, "residual");
  if (found.data) find_next(program, fusions, readers, found);
  behind_[maker] = norm;
  inside_[norm] = norm;
  norms_[norm] = found;
}

void ConvNorms::find_gradient(const Program& program, const NormFusions& fusions, const Readers& readers, ConvNorm& found) {
  const StepId end(program.steps.size());
  const Step& norm = program.steps[found.norm.index()];
  const NormFusion* forward = fusions.at(found.norm);
  if (!forward || !forward->step.attributes.contains("activation")) return;
  for (const char* role : {"weight", "bias"})  // the convolution in front wants them
    if (!operand(norm, role) || readers.makers[operand(norm, role)] >= found.conv) return;
  // Nobody but the norm and its gradient reads x.
  StepId norm_backward;
  for (StepId reader : readers.of[operand(norm, "x")]) {
    if (reader == found.norm) continue;
    if (reader == end || norm_backward || program.steps[reader.index()].op != Op::batch_norm_backward) return;
    norm_backward = reader;
  }
  if (!norm_backward) return;
  const StepId relu_backward = readers.makers[operand(program.steps[norm_backward.index()], "dy")];
  const NormFusion* backward = relu_backward ? fusions.at(relu_backward) : nullptr;
  if (!backward || backward->instead != norm_backward) return;
  // The last of the gradients that the ReLU's is made of.
  ValueId last = operand(backward->step, "dy");
  const ValueId other = operand(backward->step, "dy2");
  if (other && readers.makers[other] > readers.makers[last]) last = other;
  const StepId data = readers.makers[last];
  if (!data || program.steps[data.index()].op != Op::conv_backward_data) return;
  if (!(program.steps[data.index()].place == norm.place) || readers.of[last] != std::vector{relu_backward}) return;
  found.data = data;
  found.relu_backward = relu_backward;
  found.norm_backward = norm_backward;
}

void ConvNorms::find_next(const Program& program, const NormFusions& fusions, const Readers& readers, ConvNorm& found) {
  const NormFusion* forward = fusions.at(found.norm);
  if (operand(forward->step, "residual")) return;
  const ValueId made(forward->step.outputs[0]);
  StepId next, next_weight;
  for (StepId reader : readers.of[made]) {
    if (reader == found.relu_backward) continue;
    if (reader.index() == program.steps.size()) return;
    const Step& step = program.steps[reader.index()];
    StepId* const place = step.op == Op::conv ? &next : step.op == Op::conv_backward_weight ? &next_weight : nullptr;
    if (!place || *place || operand(step, "x") != made || !(step.place == forward->step.place)) return;
    *place = reader;
  }
  if (!next || !next_weight) return;
  if (operand(program.steps[found.data.index()], "weight") != operand(program.steps[next.index()], "weight")) return;
  found.next = next;
  found.next_weight = next_weight;
}

const ConvNorm* ConvNorms::behind(StepId step) const {
  const auto found = behind_.find(step);
  return found == behind_.end() ? nullptr : &norms_.at(found->second);
}

std::optional<Step> ConvNorms::joined(StepId id, const Step& base, const Levels& levels) const {
  const auto at = [&](const std::map<StepId, StepId>& where, Joined least) -> const ConvNorm* {
    const auto found = where.find(id);
    return found == where.end() || levels(found->second) < least ? nullptr : &norms_.at(found->second);
  };
  const ConvNorm *behind = at(behind_, Joined::statistics), *in_front = at(in_front_, Joined::whole),
                 *data = at(data_, Joined::gradient), *inside = at(inside_, Joined::statistics);
  if (inside && id != inside->norm && levels(inside->norm) < Joined::gradient) inside = nullptr;
  const auto of = [&](StepId step) -> const Step& { return program_->steps[step.index()]; };
  if (!behind && !in_front && !data && !inside) return std::nullopt;
  Step step = base;
  if (in_front) {
    replace_operand(step, "x", operand(of(in_front->norm), "x").number());
    give(step, "x_factors", left_by(in_front->norm, Left::factors));
  }
  if (data) take_gradients(step, *data);
  if (behind) {
    const Step& norm = of(behind->norm);
    const ValueId biased = operand(of(behind->conv), "bias");  // what NormFusions leaves out is in the mean
    if (biased) give(step, "x_bias", biased.number());
    step.attributes["statistics"] = norm.attributes.at("eps");
    step.outputs.insert(step.outputs.end(), {norm.outputs[1], norm.outputs[2]});
    if (levels(behind->norm) >= Joined::gradient) step.outputs.push_back(left_by(behind->norm, Left::moments));
    if (levels(behind->norm) == Joined::whole) {
      give(step, "norm_weight", operand(norm, "weight").number());
      give(step, "norm_bias", operand(norm, "bias").number());
      step.outputs.push_back(left_by(behind->norm, Left::factors));
    }
  }
  if (inside) {
    const Joined level = levels(inside->norm);
    if (id == inside->norm && level != Joined::whole) {
      give(step, "mean", of(id).outputs[1]);
      give(step, "var", of(id).outputs[2]);
      step.outputs.erase(step.outputs.begin() + 1, step.outputs.begin() + 3);
      if (level == Joined::gradient) step.outputs.resize(1);  // nobody wants the mask
    } else if (id == inside->norm_backward) {
      step = of(id);
      step.roles = {"x", "dy", "slopes"};
      step.inputs = {operand(of(id), "x").number(), operand(of(id), "dy").number(), left_by(inside->norm, Left::slopes)};
      step.outputs.resize(1);
    } else {
      step.outputs.clear();
    }
  }
  return step;
}

void ConvNorms::take_gradients(Step& step, const ConvNorm& joined) const {
  const auto of = [&](StepId other) -> const Step& { return program_->steps[other.index()]; };
  const Step &norm = of(joined.norm), &backward = of(joined.norm_backward), &relu = of(joined.relu_backward);
  give(step, "x", operand(norm, "x").number());
  give(step, "moments", left_by(joined.norm, Left::moments));
  give(step, "norm_weight", operand(norm, "weight").number());
  give(step, "norm_bias", operand(norm, "bias").number());
  if (const auto residual = residuals_.find(joined.norm); residual != residuals_.end())
    give(step, "residual", residual->second.number());
  // The other gradient of a sum; the last one is what the ReLU made.
  if (relu.inputs.size() == 3) give(step, "dy2", relu.inputs[relu.inputs[0] == step.outputs[0] ? 1 : 0]);
  step.outputs = {relu.outputs[0], backward.outputs[1], backward.outputs[2], left_by(joined.norm, Left::slopes)};
}

}  // namespace sheaf
