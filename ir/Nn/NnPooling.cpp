// Shapes and splitting of pooling. Formulas: torch.nn.MaxPool2d, AvgPool2d, AdaptiveAvgPool2d.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// Output size of a window that moves over `size`; with ceil_mode the last window may start inside the
/// padding's left part or the input, never in the right padding (torch's pooling_output_shape).
int64_t pooled(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode) {
  int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
  if (span < 0) return 0;
  int64_t out = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (out - 1) * stride >= size + padding) --out;
  return out;
}

LogicalResult pool_shape(Operation* op, const TensorShape& x, ArrayRef<int64_t> kernel, ArrayRef<int64_t> stride,
                         ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation, bool ceil_mode,
                         SmallVectorImpl<TensorShape>& results) {
  if (x.rank() != 3 && x.rank() != 4)
    return op->emitError("expects an input of 4 dimensions (or 3 without the batch), but got ") << ir::to_string(x);
  auto fits = [](ArrayRef<int64_t> list, int64_t least) {
    return list.size() == 2 && llvm::all_of(list, [=](int64_t value) { return value >= least; });
  };
  if (!fits(kernel, 1) || !fits(stride, 1) || !fits(padding, 0) || !(dilation.empty() || fits(dilation, 1)))
    return op->emitError("expects two sizes of kernel, stride and dilation (at least 1) and padding (at least 0)");
  TensorShape y = x;
  for (int64_t i = 0; i < 2; ++i) {
    Extent& dim = y.dims[x.rank() - 2 + i];
    if (dim.terms.count("?")) continue;
    if (!dim.is_static())
      return op->emitError("expects spatial sizes that don't depend on the batch, but the input is ") << ir::to_string(x);
    int64_t size = pooled(dim.constant, kernel[i], stride[i], padding[i], dilation.empty() ? 1 : dilation[i], ceil_mode);
    if (size < 1)
      return op->emitError("gives an output of size ") << size << " from an input of " << ir::to_string(x);
    dim = size;
  }
  results.push_back(y);
  return success();
}

std::optional<int64_t> outer_split(int64_t rank, int64_t dim) {
  return dim < rank - 2 ? std::optional<int64_t>(dim) : std::nullopt;
}

}  // namespace

LogicalResult MaxPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shape(*this, operands[0], getKernelSize(), getStride(), getPadding(), getDilation(), getCeilMode(), results);
}
LogicalResult AvgPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_shape(*this, operands[0], getKernelSize(), getStride(), getPadding(), {}, getCeilMode(), results);
}
LogicalResult AdaptiveAvgPoolOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  if (x.rank() != 3 && x.rank() != 4)
    return emitError("expects an input of 4 dimensions (or 3 without the batch), but got ") << ir::to_string(x);
  if (getOutputSize().size() != 2) return emitError("expects two output sizes, but got ") << getOutputSize().size();
  TensorShape y = x;
  for (int64_t i = 0; i < 2; ++i) {
    Extent& dim = y.dims[x.rank() - 2 + i];
    if (!dim.is_static() && !dim.terms.count("?"))
      return emitError("expects spatial sizes that don't depend on the batch, but the input is ") << ir::to_string(x);
    if (getOutputSize()[i] >= 0) dim = getOutputSize()[i];
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> MaxPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AvgPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AdaptiveAvgPoolOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }

// Training.

namespace {

/// x's shape from the gradient's and x's height and width.
TensorShape unpooled(const TensorShape& dy, ArrayRef<int64_t> size) {
  TensorShape x = dy;
  for (int64_t i = 0; i < 2; ++i) x.dims[x.rank() - 2 + i] = size[i];
  return x;
}

LogicalResult check_unpooled(Operation* op, const TensorShape& dy, ArrayRef<int64_t> size) {
  if (dy.rank() != 3 && dy.rank() != 4)
    return op->emitError("expects a gradient of 4 dimensions (or 3 without the batch), but got ") << ir::to_string(dy);
  if (size.size() != 2 || size[0] < 1 || size[1] < 1) return op->emitError("expects the input's height and width");
  return success();
}

/// The pool of dx must have dy's shape.
LogicalResult pool_gradient(Operation* op, const TensorShape& dy, ArrayRef<int64_t> size, ArrayRef<int64_t> kernel,
                            ArrayRef<int64_t> stride, ArrayRef<int64_t> padding, ArrayRef<int64_t> dilation,
                            bool ceil_mode, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_unpooled(op, dy, size))) return failure();
  TensorShape x = unpooled(dy, size);
  SmallVector<TensorShape> y;
  if (failed(pool_shape(op, x, kernel, stride, padding, dilation, ceil_mode, y)) ||
      failed(require_fit(op, y[0], dy, "a gradient")))
    return failure();
  results.push_back(x);
  return success();
}

}  // namespace

LogicalResult MaxPoolTrainOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(pool_shape(*this, operands[0], getKernelSize(), getStride(), getPadding(), getDilation(), getCeilMode(), results)))
    return failure();
  results.push_back(workspace_shape(getContext()));
  return success();
}
LogicalResult MaxPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_gradient(*this, operands[0], getSize(), getKernelSize(), getStride(), getPadding(), getDilation(), getCeilMode(), results);
}
LogicalResult AvgPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return pool_gradient(*this, operands[0], getSize(), getKernelSize(), getStride(), getPadding(), {}, getCeilMode(), results);
}
LogicalResult AdaptiveAvgPoolBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_unpooled(*this, operands[0], getSize()))) return failure();
  results.push_back(unpooled(operands[0], getSize()));
  return success();
}
std::optional<int64_t> MaxPoolTrainOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> MaxPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AvgPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
std::optional<int64_t> AdaptiveAvgPoolBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) { return outer_split(rank, dim); }
