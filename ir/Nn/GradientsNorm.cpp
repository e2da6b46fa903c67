// Duals of softmax and of norms over rows, composed of element-wise ops and means. They compute the statistics again from x.
#include "ir/Nn/Nn.h"

using namespace mlir;
using namespace sheaf::nn;

/// y = softmax(x): dx = y · (dy - Σ dy · y). y = log softmax(x): dx = dy - e^y · Σ dy.
void SoftmaxOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (!gradients.needed(0u)) return;
  Value dy = results[0], y = gradients.forward(getY());
  int64_t dim = *sheaf::ir::normalize_dim(getDim(), gradients.type(y).getRank());
  if (getLog()) {
    Value probabilities = gradients.make<ExpOp>(y.getType(), y);
    operands[0] = gradients.sub(dy, gradients.mul(probabilities, gradients.sum(dy, {dim}, true)));
  } else {
    Value weighted = gradients.sum(gradients.mul(dy, y), {dim}, true);
    operands[0] = gradients.mul(y, gradients.sub(dy, weighted));
  }
}

namespace {

/// x normalised over `dims` to mean 0 and variance 1.
struct Normalized {
  Value x_hat, inverse_deviation;
  SmallVector<int64_t> dims;

  Normalized(GradientBuilder& gradients, Value x, ArrayRef<int64_t> over, FloatAttr eps) : dims(over) {
    Value centred = gradients.sub(x, gradients.mean(x, dims, true));
    Value variance = gradients.mean(gradients.mul(centred, centred), dims, true);
    inverse_deviation = gradients.make<RsqrtOp>(variance.getType(), variance, eps);
    x_hat = gradients.mul(centred, inverse_deviation);
  }

  /// dx = (g - mean(g) - x̂ · mean(g · x̂)) / deviation, with g the gradient of x̂ (Ioffe and Szegedy 2015, simplified).
  Value gradient_of_x(GradientBuilder& gradients, Value g) const {
    Value projection = gradients.mul(x_hat, gradients.mean(gradients.mul(g, x_hat), dims, true));
    Value rest = gradients.sub(gradients.sub(g, gradients.mean(g, dims, true)), projection);
    return gradients.mul(rest, inverse_deviation);
  }
};

}  // namespace

void LayerNormOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  Value dy = results[0];
  int64_t rank = gradients.type(dy).getRank(), rows = rank - static_cast<int64_t>(getNormalizedShape().size());
  SmallVector<int64_t> row_dims = llvm::to_vector(llvm::seq<int64_t>(0, rows));
  unsigned bias = getWeight() ? 2 : 1;
  if (gradients.needed(getBias())) operands[bias] = gradients.sum(dy, row_dims, false);
  if (!gradients.needed(0u) && !gradients.needed(getWeight())) return;
  Normalized normalized(gradients, gradients.forward(getX()), llvm::to_vector(llvm::seq<int64_t>(rows, rank)), getEpsAttr());
  if (gradients.needed(getWeight())) operands[1] = gradients.sum(gradients.mul(dy, normalized.x_hat), row_dims, false);
  if (!gradients.needed(0u)) return;
  operands[0] = normalized.gradient_of_x(gradients, getWeight() ? gradients.mul(dy, gradients.forward(getWeight())) : dy);
}

/// y = (x - mean) · s · weight + bias along dimension 1, with s = 1 / √(var + eps) and the statistics given. They have no
/// gradient.
void BatchNormOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  Value dy = results[0];
  const int64_t rank = gradients.type(dy).getRank();
  SmallVector<int64_t> others, column(static_cast<size_t>(rank - 1), 1);
  for (int64_t i : llvm::seq<int64_t>(0, rank))
    if (i != 1) others.push_back(i);
  auto along = [&](Value statistic) {  // [C] as [C, 1, …], which broadcasts against x
    column[0] = gradients.type(statistic).getShape()[0];
    return gradients.reshape(statistic, column);
  };
  if (gradients.needed(getBias())) operands.back() = gradients.sum(dy, others, false);
  if (!gradients.needed(0u) && !gradients.needed(getWeight())) return;
  Value var = gradients.forward(getVar());
  Value scale = along(gradients.make<RsqrtOp>(var.getType(), var, getEpsAttr()));
  if (gradients.needed(getWeight())) {
    Value centred = gradients.sub(gradients.forward(getX()), along(gradients.forward(getMean())));
    operands[3] = gradients.sum(gradients.mul(dy, gradients.mul(centred, scale)), others, false);
  }
  if (!gradients.needed(0u)) return;
  operands[0] = gradients.mul(dy, getWeight() ? gradients.mul(scale, along(gradients.forward(getWeight()))) : scale);
}

/// A layer norm over [N, groups, channels of a group · space]; weight and bias run along the channels.
void GroupNormOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  Value dy = results[0];
  ArrayRef<int64_t> shape = gradients.type(dy).getShape();
  SmallVector<int64_t> but_channels = {0};
  for (size_t i = 2; i < shape.size(); ++i) but_channels.push_back(static_cast<int64_t>(i));
  unsigned bias = getWeight() ? 2 : 1;
  if (gradients.needed(getBias())) operands[bias] = gradients.sum(dy, but_channels, false);
  if (!gradients.needed(0u) && !gradients.needed(getWeight())) return;
  for (int64_t dim = 1; dim < gradients.type(dy).getRank(); ++dim) {
    if (!ShapedType::isDynamic(shape[dim])) continue;
    emitError("has no gradient where channels or space depend on ")
        << gradients.opened_by(getX(), dim) << "; a number in its place mends it";
    return;
  }
  int64_t groups = getNumGroups(), size = 1;
  for (int64_t dim : shape.drop_front()) size *= dim;
  auto grouped = [&](Value x) { return gradients.reshape(x, {shape[0], groups, size / groups}); };
  Normalized normalized(gradients, grouped(gradients.forward(getX())), {2}, getEpsAttr());
  if (gradients.needed(getWeight())) {
    Value x_hat = gradients.reshape(normalized.x_hat, shape);
    operands[1] = gradients.sum(gradients.mul(dy, x_hat), but_channels, false);
  }
  if (!gradients.needed(0u)) return;
  if (getWeight()) {
    SmallVector<int64_t> along_channels(shape.size() - 1, 1);
    along_channels[0] = shape[1];
    dy = gradients.mul(dy, gradients.reshape(gradients.forward(getWeight()), along_channels));
  }
  operands[0] = gradients.reshape(normalized.gradient_of_x(gradients, grouped(dy)), shape);
}
