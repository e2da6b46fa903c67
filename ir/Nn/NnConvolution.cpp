// Shapes and splitting of convolutions and their transposes. Formulas: runtime/ops/convolution.cpp.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"

#include <limits>

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

LogicalResult conv_shapes(Operation* op, ArrayRef<int64_t> stride, ArrayRef<TensorShape> operands,
                          SmallVectorImpl<TensorShape>& results) {
  if (failed(require_static_image(op, operands[0], stride.size()))) return failure();
  return library_shapes(op, operands, results);
}

/// The padding must be filled from the input: torch.nn.functional.pad's limits.
LogicalResult check_border(ConvOp op, const TensorShape& x) {
  auto mode = op->getAttrOfType<StringAttr>(kPaddingMode);
  if (!mode) return success();
  const bool reflect = mode.getValue() == "reflect", circular = mode.getValue() == "circular";
  if (!reflect && !circular && mode.getValue() != "replicate")
    return op.emitError("expects a padding mode of reflect, replicate or circular, but got '") << mode.getValue() << "'";
  int64_t spatial = op.getStride().size();
  for (int64_t i = 0; i < spatial; ++i) {
    const Extent& size = x.dims[x.rank() - spatial + i];
    if (is_unknown(size)) continue;
    int64_t most = reflect ? size.constant - 1 : circular ? size.constant : std::numeric_limits<int64_t>::max();
    if (size.constant < 1 || std::max(op.getPaddingBegin()[i], op.getPaddingEnd()[i]) > most)
      return op.emitError("pads by '") << mode.getValue() << "' with more than an input of " << ir::to_string(x) << " holds";
  }
  return success();
}

/// Cutting x along the batch cuts the result; along channels or space it mixes the parts.
std::optional<int64_t> batch_split(unsigned operand, int64_t rank, int64_t spatial, int64_t dim) {
  return operand == 0 && rank == spatial + 2 && dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

}  // namespace

LogicalResult ConvOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(conv_shapes(*this, getStride(), operands, results))) return failure();
  return check_border(*this, operands[0]);
}
std::optional<int64_t> ConvOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

LogicalResult ConvTransposeOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return conv_shapes(*this, getStride(), operands, results);
}
std::optional<int64_t> ConvTransposeOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

// Training. The batch dimension is always present here.

LogicalResult ConvBackwardDataOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return conv_shapes(*this, getStride(), operands, results);
}
std::optional<int64_t> ConvBackwardDataOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

LogicalResult ConvBackwardWeightOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return conv_shapes(*this, getStride(), operands, results);
}
/// A sum over the batch.
std::optional<int64_t> ConvBackwardWeightOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
