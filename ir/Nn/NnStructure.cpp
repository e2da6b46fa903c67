// Verifiers of parallel regions, sums over replicas and fused groups, and Print's shape.
#include "ir/Nn/Nn.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

#define GET_OP_CLASSES
#include "ir/Nn/NnOps.cpp.inc"

LogicalResult PrintOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (operands.empty()) return emitError("expects at least one input");
  results.push_back(operands[0]);
  return success();
}

LogicalResult DataParallelOp::verify() {
  Block& body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitError("has ") << getInputs().size() << " inputs, but its body takes " << body.getNumArguments();
  if (body.getTerminator()->getNumOperands() != getNumResults())
    return emitError("has ") << getNumResults() << " results, but its body yields " << body.getTerminator()->getNumOperands();
  if (auto ids = getDeviceIds())
    for (int64_t id : *ids)
      if (id < 0) return emitError("expects device ids that are not negative");
  if (getDeviceIds() && getDeviceIds()->empty()) return emitError("expects at least one device id");
  for (auto [input, argument] : llvm::zip(getInputs(), body.getArguments())) {
    auto outer = dyn_cast<RankedTensorType>(input.getType()), inner = dyn_cast<RankedTensorType>(argument.getType());
    if (!outer || !inner) continue;  // before shape inference
    if (isReplicated(argument.getArgNumber())) {
      if (outer != inner) return emitError("replicates ") << outer << ", but its body takes " << inner;
      continue;
    }
    auto dim = ir::normalize_dim(getDim(), outer.getRank());
    if (!dim) return emitError("cannot split ") << outer << " along dimension " << static_cast<int64_t>(getDim());
    bool fits = outer.getRank() == inner.getRank() && inner.isDynamicDim(*dim);
    for (int64_t i = 0; fits && i < outer.getRank(); ++i) fits = i == *dim || outer.getDimSize(i) == inner.getDimSize(i);
    if (!fits) return emitError("splits ") << outer << " along dimension " << *dim << ", but its body takes " << inner;
  }
  return success();
}

bool DataParallelOp::isReplicated(unsigned input) {
  auto has_rows = [](mlir::Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && !tensor.hasStaticShape();
  };
  return isa<RankedTensorType>(getInputs()[input].getType()) && !has_rows(getInputs()[input].getType()) &&
         llvm::any_of(getInputs().getTypes(), has_rows);
}

LogicalResult SumOverReplicasOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  results.push_back(operands[0]);
  return success();
}

LogicalResult SumOverReplicasOp::verify() {
  auto tensor = dyn_cast<RankedTensorType>(getX().getType());
  if (tensor && !isa<FloatType>(tensor.getElementType()))
    return emitError("adds up numbers of a floating-point type, not ") << tensor;
  if (tensor && !tensor.hasStaticShape()) return emitError("adds up values of one shape, but ") << tensor << " has open sizes";
  Operation* maker = getX().getDefiningOp();
  if (!maker || maker->getBlock() != (*this)->getBlock())
    return emitError("adds up what its region computes, not what comes from outside");
  if (isa<SumOverReplicasOp>(maker)) return emitError("adds up a sum that is already the same on each replica");
  return success();
}

LogicalResult FusedOp::verify() {
  Block& body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes()) return emitError("expects body arguments of its inputs' types");
  if (body.getTerminator()->getOperandTypes() != getResultTypes()) return emitError("expects its body to yield its results");
  int rows = 0;
  for (Operation& op : body.without_terminator()) {
    if (is_row_op(&op)) ++rows;
    else if (!isa<ElementwiseOpInterface>(op)) return op.emitError("has no scalar definition and cannot be in nn.fused");
  }
  if (rows > 1) return emitError("holds ") << rows << " ops over rows; one kernel computes at most one";
  return success();
}

bool sheaf::nn::is_row_op(Operation* op) { return isa<SoftmaxOp, LayerNormOp, GroupNormOp, SumOp, MeanOp, ExtremumOp>(op); }
