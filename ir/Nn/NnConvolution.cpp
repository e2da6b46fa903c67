// Shapes and splitting of convolutions and their transposes. Formulas: torch.nn.Conv2d, torch.nn.ConvTranspose2d.
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// A spatial size must be a number: a size that depends on the batch cannot be convolved over.
LogicalResult require_static(Operation* op, const TensorShape& x, int64_t from) {
  for (int64_t i = from; i < x.rank(); ++i)
    if (!x.dims[i].is_static() && !x.dims[i].terms.count("?"))
      return op->emitError("expects spatial sizes that don't depend on the batch, but the input is ") << ir::to_string(x);
  return success();
}

LogicalResult check_input(Operation* op, const TensorShape& x, int64_t spatial, const Extent& channels) {
  if (x.rank() != spatial + 1 && x.rank() != spatial + 2)
    return op->emitError("expects an input of ") << spatial + 2 << " dimensions (or " << spatial + 1
                                                 << " without the batch), but got " << ir::to_string(x);
  const Extent& found = x.dims[x.rank() - spatial - 1];
  if (!ir::may_be_equal(found, channels))
    return op->emitError("expects ") << sheaf::to_string(channels) << " input channels, but the input is "
                                     << ir::to_string(x);
  return require_static(op, x, x.rank() - spatial);
}

LogicalResult check_bias(Operation* op, bool present, ArrayRef<TensorShape> operands, const Extent& channels) {
  if (present && (operands[2].rank() != 1 || !ir::may_be_equal(operands[2].dims[0], channels)))
    return op->emitError("expects a bias of ") << sheaf::to_string(channels) << " elements, but got "
                                               << ir::to_string(operands[2]);
  return success();
}

/// Each list has a number for each spatial dimension; strides, dilations and groups are positive, paddings not negative.
LogicalResult check_window(Operation* op, int64_t groups, ArrayRef<ArrayRef<int64_t>> positive,
                           ArrayRef<ArrayRef<int64_t>> not_negative) {
  auto fits = [&](ArrayRef<int64_t> list, int64_t least) {
    return list.size() == positive[0].size() && llvm::all_of(list, [=](int64_t value) { return value >= least; });
  };
  bool valid = groups >= 1 && !positive[0].empty();
  for (ArrayRef<int64_t> list : positive) valid &= fits(list, 1);
  for (ArrayRef<int64_t> list : not_negative) valid &= fits(list, 0);
  if (!valid)
    return op->emitError("expects stride and dilation (at least 1) and padding (at least 0) for each spatial dimension, "
                         "and at least one group");
  return success();
}

bool is_unknown(const Extent& extent) { return extent.terms.count("?") > 0; }

/// Cutting x along the batch cuts the result; along channels or space it mixes.
std::optional<int64_t> batch_split(unsigned operand, int64_t rank, int64_t spatial, int64_t dim) {
  return operand == 0 && rank == spatial + 2 && dim == 0 ? std::optional<int64_t>(0) : std::nullopt;
}

/// Replaces x's spatial sizes by those of a convolution's result. `kernel`: sizes of the window.
template <typename Op>
LogicalResult convolve(Op op, TensorShape& x, ArrayRef<Extent> kernel) {
  int64_t spatial = op.getStride().size(), first = x.rank() - spatial;
  const TensorShape input = x;
  for (int64_t i = 0; i < spatial; ++i) {
    Extent& size = x.dims[first + i];
    if (is_unknown(size)) continue;
    int64_t padded = size.constant + op.getPaddingBegin()[i] + op.getPaddingEnd()[i];
    int64_t window = op.getDilation()[i] * (kernel[i].constant - 1) + 1;
    if (padded < window)
      return op.emitError("expects a padded input at least as large as the kernel (")
             << window << "), but it is " << padded << " (input " << ir::to_string(input) << ")";
    size = (padded - window) / op.getStride()[i] + 1;
  }
  return success();
}

}  // namespace

LogicalResult ConvOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_window(*this, getGroups(), {getStride(), getDilation()}, {getPaddingBegin(), getPaddingEnd()}))) return failure();
  const TensorShape &x = operands[0], &weight = operands[1];
  int64_t spatial = getStride().size();
  if (weight.rank() != spatial + 2) return emitError("expects a weight of ") << spatial + 2 << " dimensions";
  if (failed(check_input(*this, x, spatial, weight.dims[1] * getGroups())) ||
      failed(check_bias(*this, static_cast<bool>(getBias()), operands, weight.dims[0])))
    return failure();
  TensorShape y = x;
  if (failed(convolve(*this, y, ArrayRef(weight.dims).drop_front(2)))) return failure();
  y.dims[x.rank() - spatial - 1] = weight.dims[0];
  if (getResidual() && !ir::may_fit(operands.back(), y))
    return emitError("expects a residual of shape ") << ir::to_string(y) << ", but got " << ir::to_string(operands.back());
  results.push_back(y);
  return success();
}
std::optional<int64_t> ConvOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

LogicalResult ConvTransposeOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_window(*this, getGroups(), {getStride(), getDilation()}, {getPadding(), getOutputPadding()}))) return failure();
  const TensorShape &x = operands[0], &weight = operands[1];
  int64_t spatial = getStride().size();
  if (weight.rank() != spatial + 2) return emitError("expects a weight of ") << spatial + 2 << " dimensions";
  Extent channels = weight.dims[1] * getGroups();
  if (failed(check_input(*this, x, spatial, weight.dims[0])) ||
      failed(check_bias(*this, static_cast<bool>(getBias()), operands, channels)))
    return failure();
  TensorShape y = x;
  int64_t first = x.rank() - spatial;
  y.dims[first - 1] = channels;
  for (int64_t i = 0; i < spatial; ++i) {
    if (is_unknown(x.dims[first + i])) continue;
    int64_t size = (x.dims[first + i].constant - 1) * getStride()[i] - 2 * getPadding()[i] +
                   getDilation()[i] * (weight.dims[2 + i].constant - 1) + getOutputPadding()[i] + 1;
    if (size < 1) return emitError("gives an output of size ") << size << " from an input of " << ir::to_string(x);
    y.dims[first + i] = size;
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> ConvTransposeOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

// Training. Here the batch dimension is always there.

LogicalResult ConvBackwardDataOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_window(*this, getGroups(), {getStride(), getDilation(), getSize()}, {getPaddingBegin(), getPaddingEnd()})))
    return failure();
  const TensorShape &dy = operands[0], &weight = operands[1];
  int64_t spatial = getStride().size();
  if (weight.rank() != spatial + 2 || dy.rank() != spatial + 2)
    return emitError("expects a gradient and a weight of ") << spatial + 2 << " dimensions";
  TensorShape x{dy.element, {dy.dims[0], weight.dims[1] * getGroups()}};
  x.dims.append(getSize().begin(), getSize().end());
  TensorShape y = x;
  if (failed(convolve(*this, y, ArrayRef(weight.dims).drop_front(2)))) return failure();
  y.dims[1] = weight.dims[0];
  if (failed(require_fit(*this, y, dy, "a gradient"))) return failure();
  results.push_back(x);
  return success();
}
std::optional<int64_t> ConvBackwardDataOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return batch_split(operand, rank, getStride().size(), dim);
}

LogicalResult ConvBackwardWeightOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(check_window(*this, getGroups(), {getStride(), getDilation(), getKernelSize()}, {getPaddingBegin(), getPaddingEnd()})))
    return failure();
  const TensorShape &x = operands[0], &dy = operands[1];
  int64_t spatial = getStride().size();
  if (x.rank() != spatial + 2 || dy.rank() != spatial + 2)
    return emitError("expects an input and a gradient of ") << spatial + 2 << " dimensions";
  if (!x.dims[1].is_static() || x.dims[1].constant % static_cast<int64_t>(getGroups()))
    return emitError("expects channels divisible by ") << getGroups() << " groups, but the input is " << ir::to_string(x);
  if (getBias() != static_cast<bool>(getDbias())) return emitError("expects a second result where 'bias' is true, and only there");
  TensorShape weight{sum_type(x.element), {dy.dims[1], Extent(x.dims[1].constant / static_cast<int64_t>(getGroups()))}};
  weight.dims.append(getKernelSize().begin(), getKernelSize().end());
  TensorShape y = x;
  if (failed(convolve(*this, y, ArrayRef(weight.dims).drop_front(2)))) return failure();
  y.dims[1] = dy.dims[1];
  if (failed(require_fit(*this, y, dy, "a gradient"))) return failure();
  results.push_back(weight);
  if (getBias()) results.push_back({sum_type(x.element), {dy.dims[1]}});
  return success();
}
/// A sum over the batch.
std::optional<int64_t> ConvBackwardWeightOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
