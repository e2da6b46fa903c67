#include "codegen/plan/fused_kernel.h"

#include "codegen/plan/element_chain.h"
#include "codegen/plan/program_builder.h"
#include "codegen/plan/reduction.h"

using namespace mlir;

namespace sheaf::codegen {

using kernels::KernelModule;
using kernels::KernelUse;
using kernels::Shape;

namespace {

Result<KernelUse> elementwise_kernel(KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                                     std::vector<mlir::Value>& operands, const NarrowOperand* narrow) {
  Block& body = fused.getBody().front();
  const ir::TensorShape& result = shapes.of(fused.getResult(0));
  ElementChain chain(nullptr, result);
  for (Operation& op : body.without_terminator()) chain.add(op, shapes);
  kernels::ElementwiseSpec spec;
  spec.description = chain.name();
  spec.name = spec.description.substr(0, 64);
  spec.shape = Shape(result.dims.begin(), result.dims.end());
  spec.outputs = {dtype_of(result.element)};
  for (const auto& [argument, aligned] : chain.inputs()) {
    const bool narrower = narrow && cast<BlockArgument>(argument).getArgNumber() == narrow->number;
    spec.inputs.push_back({narrower ? narrow->dtype : dtype_of(shapes.of(argument).element), aligned});
    operands.push_back(argument);
  }
  spec.body = chain.body(llvm::to_vector(body.getTerminator()->getOperands()));
  spec.coordinates = chain.coordinates(shapes);
  spec.sizes = chain.sizes();
  return module.add_elementwise(spec);
}

/// The ops that compute `anchor`'s first operand.
llvm::SmallPtrSet<Operation*, 8> ops_before(Operation* anchor) {
  llvm::SmallPtrSet<Operation*, 8> before;
  SmallVector<mlir::Value> open = {anchor->getOperand(0)};
  while (!open.empty()) {
    Operation* op = open.pop_back_val().getDefiningOp();
    if (op && before.insert(op).second) open.append(op->operand_begin(), op->operand_end());
  }
  return before;
}

/// A softmax, norm, sum or mean together with the element-wise ops before and after it.
Result<KernelUse> row_kernel(KernelModule& module, nn::FusedOp fused, Operation* anchor, const ir::ShapeAnalysis& shapes,
                             std::vector<mlir::Value>& operands) {
  Block& body = fused.getBody().front();
  llvm::SmallPtrSet<Operation*, 8> before = ops_before(anchor);
  // The kernel walks over one tensor of the full shape; whatever else the ops before the anchor read becomes an operand.
  mlir::Value x = anchor->getOperand(0);
  if (!before.empty())
    for (BlockArgument argument : body.getArguments())
      if (argument.getType() == x.getType() &&
          llvm::any_of(argument.getUsers(), [&](Operation* user) { return before.contains(user); })) {
        x = argument;
        break;
      }
  if (!isa<BlockArgument>(x))
    return Error("internal error: a fused " + anchor->getName().getStringRef().str() + " has no input of its shape");
  ElementChain prologue(x, shapes.of(anchor->getOperand(0))), epilogue(anchor->getResult(0), shapes.of(anchor->getResult(0)));
  for (Operation& op : body.without_terminator()) {
    if (&op != anchor) (before.contains(&op) ? prologue : epilogue).add(op, shapes);
  }
  std::string name = anchor->getName().stripDialect().str();
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(anchor); softmax && softmax.getLog()) name = "log_softmax";
  std::string description =
      prologue.name() + (prologue.empty() ? "" : "_") + name + (epilogue.empty() ? "" : "_") + epilogue.name();
  operands.push_back(x);
  for (mlir::Value parameter : anchor->getOperands().drop_front()) operands.push_back(parameter);
  auto fill = [&](auto& spec) {
    spec.name = description.substr(0, 64);
    spec.description = description;
    spec.x = operand_of(shapes.of(x));
    spec.prologue = prologue.fusion(anchor->getOperand(0), shapes, operands);
    spec.epilogue = epilogue.fusion(body.getTerminator()->getOperand(0), shapes, operands);
  };
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(anchor)) {
    kernels::SoftmaxSpec spec;
    fill(spec);
    spec.dim = softmax.getDim();
    spec.log = softmax.getLog();
    spec.masked = softmax->hasAttr(nn::kMasked);
    return module.add_softmax(spec);
  }
  if (isa<nn::SumOp, nn::MeanOp, nn::ExtremumOp>(anchor)) {
    SHEAF_ASSIGN(auto spec, reduction_spec(*anchor, shapes));
    fill(spec);
    return module.add_mean(spec);
  }
  kernels::NormalizationSpec spec;
  fill(spec);
  auto describe = [&](auto norm) {
    spec.eps = norm.getEps().convertToDouble();
    spec.weight = static_cast<bool>(norm.getWeight());
    spec.bias = static_cast<bool>(norm.getBias());
  };
  if (auto norm = dyn_cast<nn::LayerNormOp>(anchor)) {
    spec.normalized_dims = static_cast<int64_t>(norm.getNormalizedShape().size());
    describe(norm);
  } else {
    spec.groups = static_cast<int64_t>(cast<nn::GroupNormOp>(anchor).getNumGroups());
    describe(cast<nn::GroupNormOp>(anchor));
  }
  return module.add_normalization(spec);
}

}  // namespace

Result<KernelUse> fused_kernel(KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                               std::vector<mlir::Value>& operands, const NarrowOperand* narrow) {
  Block& body = fused.getBody().front();
  auto anchor = llvm::find_if(body, [](Operation& op) { return nn::is_row_op(&op); });
  Result<KernelUse> use = anchor == body.end() ? elementwise_kernel(module, fused, shapes, operands, narrow)
                                               : row_kernel(module, fused, &*anchor, shapes, operands);
  for (mlir::Value& operand : operands) operand = fused.getInputs()[cast<BlockArgument>(operand).getArgNumber()];
  return use;
}

}  // namespace sheaf::codegen
