#include "codegen/plan/fused_kernel.h"

#include "codegen/plan/program_builder.h"

using namespace mlir;

namespace sheaf::codegen {

using kernels::KernelModule;
using kernels::KernelUse;
using kernels::Operand;
using kernels::ScalarBody;
using kernels::Shape;

Operand operand_of(const ir::TensorShape& shape) {
  return {dtype_of(shape.element), Shape(shape.dims.begin(), shape.dims.end())};
}

namespace {

/// [C] along dimension 1 of [N, C, h, w] → [1, C, 1, 1]: the shape that PyTorch's broadcasting aligns rightly.
Shape aligned_shape(nn::ElementwiseOpInterface op, unsigned operand, const ir::TensorShape& shape, int64_t result_rank) {
  Shape aligned(result_rank, Extent(1));
  SmallVector<int64_t> dims = op.operandDims(operand, shape.rank(), result_rank);
  for (int64_t i = 0; i < shape.rank(); ++i) aligned[dims[i]] = shape.dims[i];
  return aligned;
}

/// Element-wise ops of a fused group, in order, as a kernel's scalar body. A tensor that they read is an operand with
/// the shape that aligns it with the result; the same tensor aligned in two ways is two operands. `element` is the
/// value that the kernel hands over itself, as the first scalar: null where it hands over none.
class Chain {
 public:
  Chain(mlir::Value element, const ir::TensorShape& shape) : element_(element), shape_(shape) {}

  void add(Operation& op, const ir::ShapeAnalysis& shapes) {
    ops_.push_back(&op);
    for (OpOperand& operand : op.getOpOperands()) {
      auto argument = dyn_cast<BlockArgument>(operand.get());
      if (!argument || argument == element_) continue;
      auto elementwise = cast<nn::ElementwiseOpInterface>(op);
      Shape aligned = aligned_shape(elementwise, operand.getOperandNumber(), shapes.of(argument), shape_.rank());
      index_of_[&operand] = index(argument, aligned);
    }
  }

  bool empty() const { return ops_.empty(); }
  const std::vector<std::pair<BlockArgument, Shape>>& inputs() const { return inputs_; }
  std::string name() const {
    std::string name;
    for (Operation* op : ops_) name += (name.empty() ? "" : "_") + op->getName().stripDialect().str();
    return name;
  }

  ScalarBody body(SmallVector<mlir::Value> outputs) const {
    return [chain = *this, outputs](OpBuilder& builder, mlir::Location loc, ValueRange scalars) {
      DenseMap<mlir::Value, mlir::Value> made;
      size_t first = 0;
      if (chain.element_) made[chain.element_] = scalars[first++];
      for (Operation* op : chain.ops_) {
        SmallVector<mlir::Value> elements;
        for (OpOperand& operand : op->getOpOperands()) {
          auto found = chain.index_of_.find(&operand);
          elements.push_back(found != chain.index_of_.end() ? scalars[first + found->second] : made[operand.get()]);
        }
        made[op->getResult(0)] = cast<nn::ElementwiseOpInterface>(op).buildScalar(builder, loc, elements);
      }
      SmallVector<mlir::Value> results;
      for (mlir::Value output : outputs) results.push_back(made[output]);
      return results;
    };
  }

  /// The chain as what a kernel takes in, its tensors appended to `operands`.
  kernels::Fusion fusion(mlir::Value output, const ir::ShapeAnalysis& shapes, std::vector<mlir::Value>& operands) const {
    kernels::Fusion fusion;
    if (empty()) return fusion;
    for (const auto& [argument, aligned] : inputs_) {
      fusion.operands.push_back({dtype_of(shapes.of(argument).element), aligned});
      operands.push_back(argument);
    }
    fusion.body = body({output});
    return fusion;
  }

 private:
  size_t index(BlockArgument argument, const Shape& aligned) {
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (inputs_[i].first == argument && inputs_[i].second == aligned) return i;
    inputs_.push_back({argument, aligned});
    return inputs_.size() - 1;
  }

  mlir::Value element_;
  ir::TensorShape shape_;
  SmallVector<Operation*> ops_;
  std::vector<std::pair<BlockArgument, Shape>> inputs_;
  DenseMap<OpOperand*, size_t> index_of_;
};

Result<KernelUse> elementwise_kernel(KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                                     std::vector<mlir::Value>& operands) {
  Block& body = fused.getBody().front();
  const ir::TensorShape& result = shapes.of(fused.getResult(0));
  Chain chain(nullptr, result);
  for (Operation& op : body.without_terminator()) chain.add(op, shapes);
  kernels::ElementwiseSpec spec;
  spec.description = chain.name();
  spec.name = spec.description.substr(0, 64);
  spec.shape = Shape(result.dims.begin(), result.dims.end());
  spec.outputs = {dtype_of(result.element)};
  for (const auto& [argument, aligned] : chain.inputs()) {
    spec.inputs.push_back({dtype_of(shapes.of(argument).element), aligned});
    operands.push_back(argument);
  }
  spec.body = chain.body(llvm::to_vector(body.getTerminator()->getOperands()));
  return module.add_elementwise(spec);
}

/// The ops that `anchor`'s first operand is made by.
llvm::SmallPtrSet<Operation*, 8> ops_before(Operation* anchor) {
  llvm::SmallPtrSet<Operation*, 8> before;
  SmallVector<mlir::Value> open = {anchor->getOperand(0)};
  while (!open.empty()) {
    Operation* op = open.pop_back_val().getDefiningOp();
    if (op && before.insert(op).second) open.append(op->operand_begin(), op->operand_end());
  }
  return before;
}

/// A softmax or norm with the element-wise ops before and after it.
Result<KernelUse> row_kernel(KernelModule& module, nn::FusedOp fused, Operation* anchor, const ir::ShapeAnalysis& shapes,
                             std::vector<mlir::Value>& operands) {
  Block& body = fused.getBody().front();
  llvm::SmallPtrSet<Operation*, 8> before = ops_before(anchor);
  // The kernel walks over one tensor of the full shape; what else the ops before the anchor read are operands.
  mlir::Value x = anchor->getOperand(0);
  if (!before.empty())
    for (BlockArgument argument : body.getArguments())
      if (argument.getType() == x.getType() && llvm::any_of(argument.getUsers(), [&](Operation* user) { return before.contains(user); })) {
        x = argument;
        break;
      }
  if (!isa<BlockArgument>(x)) return Error("internal error: a fused softmax or norm has no input of its shape");
  const ir::TensorShape shape = shapes.of(anchor->getResult(0));
  Chain prologue(x, shape), epilogue(anchor->getResult(0), shape);
  for (Operation& op : body.without_terminator()) {
    if (&op != anchor) (before.contains(&op) ? prologue : epilogue).add(op, shapes);
  }
  std::string name = anchor->getName().stripDialect().str();
  if (auto softmax = dyn_cast<nn::SoftmaxOp>(anchor); softmax && softmax.getLog()) name = "log_softmax";
  std::string description = prologue.name() + (prologue.empty() ? "" : "_") + name + (epilogue.empty() ? "" : "_") + epilogue.name();
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
    return module.add_softmax(spec);
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
                               std::vector<mlir::Value>& operands) {
  Block& body = fused.getBody().front();
  auto anchor = llvm::find_if(body, [](Operation& op) { return nn::is_row_op(&op); });
  Result<KernelUse> use = anchor == body.end() ? elementwise_kernel(module, fused, shapes, operands)
                                               : row_kernel(module, fused, &*anchor, shapes, operands);
  for (mlir::Value& operand : operands) operand = fused.getInputs()[cast<BlockArgument>(operand).getArgNumber()];
  return use;
}

}  // namespace sheaf::codegen
