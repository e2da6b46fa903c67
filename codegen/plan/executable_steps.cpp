#include "codegen/plan/executable_steps.h"

#include "codegen/plan/fused_kernel.h"
#include "codegen/plan/kernel_specs.h"
#include "codegen/plan/layer_steps.h"
#include "ir/Nn/Nn.h"
#include "ir/Nn/Operands.h"
#include "runtime/plan/narrow_read.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace sheaf::codegen {
namespace {

/// Up to this many weights, a generated kernel beats a library call (measured with `sheaf bench`).
constexpr int64_t kSmallLinear = 4096;

Error located(Operation& op, Error error) {
  FileLineColLoc position = nn::position_of(op.getLoc());
  if (position)
    error.diagnostics.front().location = {position.getFilename().str(), static_cast<int>(position.getLine()),
                                          static_cast<int>(position.getColumn())};
  error.diagnostics.front().message = "layer '" + nn::layer_of(&op).str() + "': " + error.diagnostics.front().message;
  return error;
}

bool is_library_call(Operation& op) { return nn::library_op(op) && !is_small_linear(op); }

/// Why an op became a library call, a kernel or a view, if there was a choice.
void note_means(Operation& op, Step& step) {
  if (isa<nn::LinearOp>(op)) {
    std::string weights = std::to_string(cast<RankedTensorType>(op.getOperand(1).getType()).getNumElements()) + " weights";
    step.notes.push_back(is_small_linear(op)
                             ? "a generated kernel: for " + weights + " (at most " + std::to_string(kSmallLinear) +
                                   "), calling a library takes longer than plain loops"
                             : "a library call: " + weights + " are too many for plain loops, which keep to " +
                                   std::to_string(kSmallLinear) + " in f32");
  }
  if (isa<nn::ReshapeOp, nn::FlattenOp>(op))
    step.notes.push_back("a view: the elements stay in their order, so nothing is copied");
  if (isa<nn::PermuteOp>(op)) step.notes.push_back("a copy: the elements change their order");
}

/// What a library may fuse with the adjacent batch norm (runtime/bind/fuse_norms.h): a ReLU alone, the sum of two tensors of
/// one shape and its ReLU, or a ReLU's gradient, also that of the sum of two; or with the look-up of an input's bytes: the cast of it
/// (runtime/bind/fetch_bytes.cpp). Empty for everything else.
StringRef pattern_of(Operation& op) {
  if (isa<nn::CastOp>(op)) return "cast";
  auto fused = dyn_cast<nn::FusedOp>(op);
  if (!fused) return {};
  SmallVector<Operation*> body;
  for (Operation& inner : fused.getBody().front().without_terminator()) body.push_back(&inner);
  auto alike = [](Operation* inner) {
    return llvm::all_of(inner->getOperandTypes(), [&](mlir::Type type) { return type == inner->getResult(0).getType(); });
  };
  auto is_relu = [](nn::ActivationBackwardOp backward) {
    return cast<StringAttr>(backward.getActivation().get("kind")).getValue() == "relu";
  };
  if (body.size() == 1 && isa<nn::CastOp>(body[0])) return "cast";
  if (body.empty() || !llvm::all_of(body, alike)) return {};
  if (body.size() == 1 && isa<nn::ReluOp>(body[0])) return "relu";
  if (body.size() == 2 && isa<nn::AddOp>(body[0]) && isa<nn::ReluOp>(body[1]) &&
      body[1]->getOperand(0) == body[0]->getResult(0))
    return "add_relu";
  if (auto backward = dyn_cast<nn::ActivationBackwardOp>(body[0]); backward && body.size() == 1)
    if (is_relu(backward)) return "relu_backward";
  if (body.size() == 2 && isa<nn::AddOp>(body[0]))
    if (auto backward = dyn_cast<nn::ActivationBackwardOp>(body[1]);
        backward && is_relu(backward) && backward->getOperand(0) == body[0]->getResult(0) &&
        backward->getOperand(1) == fused.getBody().front().getArguments().back() && fused->getNumOperands() == 3)
      return "add_relu_backward";
  return {};
}

}  // namespace

bool is_small_linear(Operation& op) {
  auto linear = dyn_cast<nn::LinearOp>(op);
  return linear && cast<RankedTensorType>(linear.getWeight().getType()).getNumElements() <= kSmallLinear &&
         cast<RankedTensorType>(linear.getX().getType()).getElementType().isF32();
}

Result<void> ExecutableSteps::add_library_call(ProgramBuilder& program, Operation& op, const Place& place) {
  Step step = program.step_for(op, place);
  step.op = *nn::library_op(op);
  step.roles = nn::operand_roles(op);
  step.attributes = nn::attributes_of(op);
  for (const AttributeRow& row : traits(step.op).attributes)
    if (row.implied) step.attributes.erase(std::string(row.name));
  note_means(op, step);
  for (mlir::Value operand : op.getOperands()) step.inputs.push_back(program.id(operand));
  for (mlir::Value result : op.getResults()) step.outputs.push_back(program.new_value(result, place));
  program.add(std::move(step));
  return {};
}

Result<void> ExecutableSteps::add_kernel(ProgramBuilder& program, Operation& op, const Place& place) {
  std::vector<mlir::Value> operands;
  Result<kernels::KernelUse> use = add_kernel_for(kernels_, op, program.shapes(), operands);
  if (!use) return located(op, use.error());
  Step step = program.step_for(op, place);
  step.op = Op::kernel;
  step.kernel = use->name;
  note_means(op, step);
  for (mlir::Value operand : operands) step.inputs.push_back(program.id(operand));
  for (size_t i = 0; i < operands.size(); ++i) step.roles.push_back(i ? "x" + std::to_string(i) : "x");
  Json extents = Json::array();
  for (const Extent& extent : use->extents) extents.push_back(to_string(extent));
  step.attributes["extents"] = extents;
  step.attributes["work"] = to_string(use->work);
  if (!(use->gpu_work == use->work)) step.attributes["gpu_work"] = to_string(use->gpu_work);
  step.attributes["grain"] = use->grain;
  if (auto count = dyn_cast<nn::InverseCountOp>(op)) {
    // A SyncBatchNorm's variance is of several values, as in PyTorch.
    if (count.getWhole() && !use->extents.empty()) step.attributes["least"] = 2;
    // If they have one size, one of them serves all batch norms.
    if (const Step* same = program.find_same(step)) {
      program.bind(op.getResult(0), same->outputs[0]);
      return {};
    }
  }
  for (mlir::Value result : op.getResults()) step.outputs.push_back(program.new_value(result, place));
  SHEAF_TRY(add_narrow_kernel(program, op, *use, operands, step));
  if (StringRef pattern = pattern_of(op); !pattern.empty()) step.attributes["pattern"] = pattern.str();
  // The input an output may overwrite: a variable, whose new value it may be, or else the first one the kernel allows.
  std::stable_partition(use->in_place.begin(), use->in_place.end(), [&](const std::pair<int, int>& pair) {
    const Value::Role role = program.value(step.inputs[static_cast<size_t>(pair.first)]).role;
    return role == Value::parameter || role == Value::buffer || role == Value::state;
  });
  std::set<int> taken;
  Json in_place = Json::array();
  for (auto [input, output] : use->in_place)
    if (taken.insert(output).second) in_place.push_back({input, output});
  if (!in_place.empty()) step.attributes["in_place"] = in_place;
  if (auto values = dyn_cast<nn::TargetValuesOp>(op))
    step.attributes["lookup_dim"] = values.dimOfClasses(program.shapes().of(values.getX()).rank());
  if (isa<nn::EmbeddingOp, nn::IndexSelectOp, nn::GatherElementsOp, nn::ScatterElementsOp>(op)) {
    // The kernel's last output reports an index out of range; the runtime turns it into an error.
    step.attributes["status"] = step.outputs.size();
    if (auto dim = op.getAttrOfType<IntegerAttr>("dim"))
      if (const int64_t at = *ir::normalize_dim(dim.getInt(), program.shapes().of(op.getOperand(1)).rank()); at > 0)
        step.attributes["lookup_dim"] = at;
    step.outputs.push_back(program.new_value(nn::layer_of(&op).str() + ":status", DType::int64, {Extent(1)}, place));
  }
  program.add(std::move(step));
  return {};
}

Result<void> ExecutableSteps::add_narrow_kernel(const ProgramBuilder& program, Operation& op, const kernels::KernelUse& use,
                                                ArrayRef<mlir::Value> operands, Step& step) {
  auto fused = dyn_cast<nn::FusedOp>(op);
  if (!fused || !use.elementwise) return {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto dtype = program.summed_from(step.inputs[i]);
    if (!dtype || llvm::count(step.inputs, step.inputs[i]) != 1) continue;
    const auto number = static_cast<unsigned>(llvm::find(fused.getInputs(), operands[i]) - fused.getInputs().begin());
    const NarrowOperand narrow{number, *dtype};
    std::vector<mlir::Value> same;
    auto other = fused_kernel(kernels_, fused, program.shapes(), same, &narrow);
    if (!other) return located(op, other.error());
    step.attributes["narrow"] = to_json(NarrowRead{i, *dtype, other->name});
    return {};
  }
  return {};
}

Result<void> ExecutableSteps::add_steps(ProgramBuilder& program, Operation& op, const Place& place) {
  if (is_library_call(op)) return add_library_call(program, op, place);
  if (!isa<nn::ReshapeOp, nn::FlattenOp, nn::PrintOp>(op)) return add_kernel(program, op, place);
  Step step = program.step_for(op, place);
  bool print = isa<nn::PrintOp>(op);
  step.op = print ? Op::print : Op::view;
  note_means(op, step);
  step.roles = nn::operand_roles(op);
  if (print) step.attributes["text"] = cast<nn::PrintOp>(op).getText().str();
  for (mlir::Value operand : op.getOperands()) step.inputs.push_back(program.id(operand));
  step.outputs = {program.new_value(op.getResult(0), place)};
  program.add(std::move(step));
  return {};
}

}  // namespace sheaf::codegen
