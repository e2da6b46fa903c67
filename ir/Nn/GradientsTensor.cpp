// Duals of ops that move elements or add them up.
#include "ir/Nn/Lengths.h"
#include "ir/Nn/Nn.h"

using namespace mlir;
using namespace sheaf::nn;

#define SHEAF_GRADIENT(OP) \
  void OP::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands)

/// The dimensions of x that a reduction keeps; all of them with keepdim.
static SmallVector<int64_t> kept_dims(Value x, ArrayRef<int64_t> reduced, bool keepdim) {
  int64_t rank = GradientBuilder::type(x).getRank();
  SmallVector<int64_t> dims, normal;
  for (int64_t dim : reduced) normal.push_back(*sheaf::ir::normalize_dim(dim, rank));
  for (int64_t i = 0; i < rank; ++i)
    if (keepdim || !llvm::is_contained(normal, i)) dims.push_back(i);
  return dims;
}

SHEAF_GRADIENT(SumOp) {
  if (gradients.needed(0u))
    operands[0] = gradients.broadcast(results[0], gradients.forward(getX()), kept_dims(getX(), getDims(), getKeepdim()));
}

SHEAF_GRADIENT(MeanOp) {
  if (!gradients.needed(0u)) return;
  Value dy = results[0], x = gradients.forward(getX());
  ArrayRef<int64_t> shape = gradients.type(x).getShape();
  int64_t count = 1;
  bool dynamic = false;
  for (int64_t dim : getDims()) {
    int64_t size = shape[*sheaf::ir::normalize_dim(dim, static_cast<int64_t>(shape.size()))];
    dynamic |= ShapedType::isDynamic(size);
    if (!dynamic) count *= size;
  }
  if (dynamic) {
    auto scalar = RankedTensorType::get({}, gradients.builder.getF32Type());
    dy = gradients.mul(dy, gradients.make<InverseCountOp>(scalar, x, getDimsAttr(), /*whole=*/false));
  } else if (count > 0) {
    dy = gradients.scale(dy, 1.0 / static_cast<double>(count));
  }
  operands[0] = gradients.broadcast(dy, x, kept_dims(x, getDims(), getKeepdim()));
}

/// Σ over the dimensions x was stretched along.
SHEAF_GRADIENT(BroadcastOp) {
  if (!gradients.needed(0u)) return;
  ArrayRef<int64_t> shape = gradients.type(getX()).getShape();
  SmallVector<int64_t> added, stretched;
  for (int64_t i = 0; i < gradients.type(getY()).getRank(); ++i)
    if (!llvm::is_contained(getDims(), i)) added.push_back(i);
  Value sum = gradients.sum(results[0], added, false);
  for (auto [i, size] : llvm::enumerate(shape))
    if (size == 1 && gradients.type(sum).getDimSize(i) != 1) stretched.push_back(static_cast<int64_t>(i));
  operands[0] = gradients.sum(sum, stretched, true);
}

SHEAF_GRADIENT(ReshapeOp) {
  if (gradients.needed(0u)) operands[0] = gradients.reshape_to(results[0], getX());
}
SHEAF_GRADIENT(FlattenOp) {
  if (gradients.needed(0u)) operands[0] = gradients.reshape_to(results[0], getX());
}

SHEAF_GRADIENT(PermuteOp) {
  if (!gradients.needed(0u)) return;
  auto x = cast<RankedTensorType>(getX().getType());
  SmallVector<int64_t> inverse(getDims().size());
  for (auto [i, dim] : llvm::enumerate(getDims()))
    inverse[*sheaf::ir::normalize_dim(dim, x.getRank())] = static_cast<int64_t>(i);
  operands[0] = gradients.make<PermuteOp>(x, results[0], gradients.builder.getDenseI64ArrayAttr(inverse));
}

/// Zeros of x's shape, with `part` from `begin` on along `dim`. A negative `begin` counts from the end.
static Value padded(GradientBuilder& gradients, Operation* op, Value part, int64_t dim, int64_t begin) {
  auto x = cast<RankedTensorType>(op->getOperand(0).getType());
  const bool open = x.isDynamicDim(dim);
  StringAttr length = open ? gradients.length_of(op->getOperand(0), dim) : StringAttr();
  if (open && !length) {
    op->emitError("has no gradient along a dimension that depends on the batch");
    return {};
  }
  if (!open && begin < 0) begin += x.getDimSize(dim);
  Builder& attributes = gradients.builder;
  Value whole = gradients.make<PadOp>(x, part, attributes.getI64IntegerAttr(dim), attributes.getI64IntegerAttr(begin),
                                      attributes.getI64IntegerAttr(open ? 0 : x.getDimSize(dim)), /*value=*/FloatAttr());
  if (length) whole.getDefiningOp()->setAttr(kLength, length);
  return whole;
}

/// Inserts `step` - 1 zeros after each entry of `part` along `dim` except the last, by padding an extra dimension.
static Value spread(GradientBuilder& gradients, Value part, int64_t dim, int64_t step) {
  SmallVector<int64_t> shape(gradients.type(part).getShape()), apart = shape;
  const int64_t count = shape[dim];
  apart.insert(apart.begin() + dim + 1, 1);
  Value wide = gradients.reshape(part, apart);
  apart[dim + 1] = step;
  Builder& attributes = gradients.builder;
  wide = gradients.make<PadOp>(gradients.type(part, apart), wide, attributes.getI64IntegerAttr(dim + 1),
                               attributes.getI64IntegerAttr(0), attributes.getI64IntegerAttr(step), /*value=*/FloatAttr());
  shape[dim] = count * step;
  return gradients.slice(gradients.reshape(wide, shape), dim, 0, (count - 1) * step + 1);
}

SHEAF_GRADIENT(SelectOp) {
  if (!gradients.needed(0u)) return;
  SmallVector<int64_t> shape(gradients.type(getX()).getShape());
  int64_t dim = *sheaf::ir::normalize_dim(getDim(), static_cast<int64_t>(shape.size()));
  shape[dim] = 1;
  operands[0] = padded(gradients, *this, gradients.reshape(results[0], shape), dim, static_cast<int64_t>(getIndex()));
}

SHEAF_GRADIENT(SliceOp) {
  if (!gradients.needed(0u)) return;
  const int64_t dim = *sheaf::ir::normalize_dim(getDim(), gradients.type(getX()).getRank()), count = getSize();
  int64_t begin = getBegin(), step = getStep();
  Value dy = results[0];
  if (step < 0) {  // the last entry is x's first
    Builder& attributes = gradients.builder;
    dy = gradients.make<SliceOp>(dy.getType(), dy, attributes.getI64IntegerAttr(dim), attributes.getI64IntegerAttr(count - 1),
                                 getSizeAttr(), attributes.getI64IntegerAttr(-1));
    begin += (count - 1) * step;
    step = -step;
  }
  if (step > 1 && count > 1) dy = spread(gradients, dy, dim, step);
  operands[0] = padded(gradients, *this, dy, dim, begin);
}

SHEAF_GRADIENT(PadOp) {
  if (!gradients.needed(0u)) return;
  int64_t dim = *sheaf::ir::normalize_dim(getDim(), gradients.type(getX()).getRank());
  operands[0] = gradients.slice(results[0], dim, getBegin(), gradients.type(getX()).getDimSize(dim));
}

SHEAF_GRADIENT(ConcatOp) {
  int64_t dim = *sheaf::ir::normalize_dim(getDim(), gradients.type(getY()).getRank()), begin = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    int64_t size = gradients.type(input).getDimSize(dim);
    if (ShapedType::isDynamic(size)) {
      emitError("has no gradient along dimension ")
          << dim << ", which depends on " << gradients.opened_by(input, dim) << "; a number in its place mends it";
      return;
    }
    if (gradients.needed(static_cast<unsigned>(i))) operands[i] = gradients.slice(results[0], dim, begin, size);
    begin += size;
  }
}

SHEAF_GRADIENT(IdentityOp) {
  if (gradients.needed(0u)) operands[0] = results[0];
}
/// Only the sizes of the other inputs are used.
SHEAF_GRADIENT(PrintOp) {
  if (gradients.needed(0u)) operands[0] = results[0];
}
