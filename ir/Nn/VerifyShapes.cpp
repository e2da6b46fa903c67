#include "ir/Nn/VerifyShapes.h"

#include "ir/Nn/Nn.h"

using namespace mlir;

namespace sheaf::ir {

LogicalResult verifyShapes(Operation* op) {
  SmallVector<TensorShape> operands, results;
  for (mlir::Value operand : op->getOperands()) {
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type) return success();  // before shape inference
    operands.push_back(shape_of(type));
  }
  if (failed(cast<nn::ShapeOpInterface>(op).inferShapes(operands, results))) return failure();
  for (auto [value, shape] : llvm::zip(op->getResults(), results)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type) continue;
    bool fits = type.getElementType() == shape.element && type.getRank() == shape.rank();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = type.isDynamicDim(i) || !shape.dims[i].is_static() || type.getDimSize(i) == shape.dims[i].constant;
    if (!fits) return op->emitError("has a result of type ") << type << " where its operands give " << tensor_type(shape);
  }
  return success();
}

}  // namespace sheaf::ir
