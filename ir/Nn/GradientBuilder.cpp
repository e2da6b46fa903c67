#include "ir/Nn/GradientBuilder.h"

#include "ir/Nn/Lengths.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;

namespace sheaf::nn {
namespace {

/// The sizes that two lists of sizes broadcast to, aligned at the end.
SmallVector<int64_t> broadcast_sizes(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size()) std::swap(a, b);
  SmallVector<int64_t> sizes(a);
  size_t offset = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    // Prefer a known size to an unknown one.
    bool take = b[i] != 1 && (a[offset + i] == 1 || ShapedType::isDynamic(a[offset + i]));
    if (take) sizes[offset + i] = b[i];
  }
  return sizes;
}

SmallVector<int64_t> reduced_sizes(Value x, ArrayRef<int64_t> dims, bool keepdim) {
  SmallVector<int64_t> sizes;
  for (auto [i, size] : llvm::enumerate(GradientBuilder::type(x).getShape())) {
    if (!llvm::is_contained(dims, static_cast<int64_t>(i))) sizes.push_back(size);
    else if (keepdim) sizes.push_back(1);
  }
  return sizes;
}

/// Sizes as nn.reshape takes them.
SmallVector<int64_t> requested(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> sizes(shape);
  for (int64_t& size : sizes)
    if (ShapedType::isDynamic(size)) size = -1;
  return sizes;
}

template <typename Op>
Value binary(const GradientBuilder& g, Value a, Value b) {
  auto sizes = broadcast_sizes(g.type(a).getShape(), g.type(b).getShape());
  return g.make<Op>(RankedTensorType::get(sizes, promoted(g.type(a).getElementType(), g.type(b).getElementType())), a, b);
}

}  // namespace

Value GradientBuilder::add(Value a, Value b) const { return binary<AddOp>(*this, a, b); }
Value GradientBuilder::sub(Value a, Value b) const { return binary<SubOp>(*this, a, b); }
Value GradientBuilder::mul(Value a, Value b) const { return binary<MulOp>(*this, a, b); }
Value GradientBuilder::div(Value a, Value b) const { return binary<DivOp>(*this, a, b); }

Value GradientBuilder::scale(Value x, double factor) const {
  return factor == 1 ? x : make<ScaleOp>(x.getType(), x, builder.getF64FloatAttr(factor));
}

Value GradientBuilder::sum(Value x, ArrayRef<int64_t> dims, bool keepdim) const {
  // From the last dimension backwards, so that earlier ones keep their numbers.
  SmallVector<int64_t> rest(dims);
  llvm::sort(rest);
  while (!rest.empty()) {
    SmallVector<int64_t> adjacent = {rest.pop_back_val()};
    while (!rest.empty() && rest.back() == adjacent.back() - 1) adjacent.push_back(rest.pop_back_val());
    llvm::sort(adjacent);
    auto sizes = reduced_sizes(x, adjacent, keepdim);
    x = make<SumOp>(RankedTensorType::get(sizes, sum_type(type(x).getElementType())), x, builder.getDenseI64ArrayAttr(adjacent),
                    builder.getBoolAttr(keepdim));
  }
  return x;
}

Value GradientBuilder::mean(Value x, ArrayRef<int64_t> dims, bool keepdim) const {
  auto sizes = reduced_sizes(x, dims, keepdim);
  return make<MeanOp>(type(x, sizes), x, builder.getDenseI64ArrayAttr(dims), builder.getBoolAttr(keepdim));
}

Value GradientBuilder::matmul(Value a, Value b, bool transpose_a, bool transpose_b) const {
  ArrayRef<int64_t> sa = type(a).getShape(), sb = type(b).getShape();
  SmallVector<int64_t> sizes = broadcast_sizes(sa.drop_back(2), sb.drop_back(2));
  sizes.push_back(sa[sa.size() - (transpose_a ? 1 : 2)]);
  sizes.push_back(sb[sb.size() - (transpose_b ? 2 : 1)]);
  return make<MatMulOp>(RankedTensorType::get(sizes, promoted(type(a).getElementType(), type(b).getElementType())), a, b,
                        transpose_a, transpose_b);
}

Value GradientBuilder::sum_to(Value gradient, Value operand) const {
  const int64_t rank = type(gradient).getRank();
  return sum_to(gradient, operand, llvm::to_vector(llvm::seq<int64_t>(rank - type(operand).getRank(), rank)));
}

Value GradientBuilder::sum_to(Value gradient, Value operand, ArrayRef<int64_t> dims) const {
  SmallVector<int64_t> from(type(gradient).getShape()), added, stretched;
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i)
    if (!llvm::is_contained(dims, i)) added.push_back(i);
  gradient = sum(gradient, added, /*keepdim=*/false);
  for (auto [i, size] : llvm::enumerate(type(operand).getShape()))
    if (size == 1 && from[dims[i]] != 1) stretched.push_back(static_cast<int64_t>(i));
  return sum(gradient, stretched, /*keepdim=*/true);
}

Value GradientBuilder::reshape(Value x, ArrayRef<int64_t> shape) const {
  if (type(x).getShape() == shape) return x;
  const auto open = llvm::count(shape, ShapedType::kDynamic);
  if (open > 1 && type(x).getNumDynamicDims() != open)
    op_->emitError("has no gradient where several sizes depend on the batch or on lengths");
  return make<ReshapeOp>(type(x, shape), x, builder.getDenseI64ArrayAttr(requested(shape)));
}

Value GradientBuilder::reshape_to(Value x, Value operand) const {
  ArrayRef<int64_t> shape = type(operand).getShape();
  if (llvm::count(shape, ShapedType::kDynamic) <= 1) return reshape(x, shape);
  SmallVector<StringRef> names;
  int unnamed = 0;
  for (int64_t dim = 0; dim < type(operand).getRank(); ++dim) {
    StringAttr length = length_of(operand, dim);
    names.push_back(length ? length.getValue() : StringRef());
    unnamed += !length && ShapedType::isDynamic(shape[dim]);
  }
  if (unnamed > 1) op_->emitError("has no gradient where several sizes depend on the batch");
  auto reshape = builder.create<ReshapeOp>(loc, type(x, shape), x, builder.getDenseI64ArrayAttr(requested(shape)));
  reshape->setAttr(kNamedSizes, builder.getStrArrayAttr(names));
  return reshape;
}

StringAttr GradientBuilder::length_of(Value operand, int64_t dim) const {
  if (!shape_) return {};
  const Extent size = shape_(operand).dims[dim];
  return size.is_static() || depends_on_rows(op_, size) ? StringAttr() : builder.getStringAttr(sheaf::to_string(size));
}

std::string GradientBuilder::opened_by(Value operand, int64_t dim) const {
  return shape_ ? nn::opened_by(op_, shape_(operand).dims[dim]) : "the batch";
}

Value GradientBuilder::broadcast(Value x, Value like, ArrayRef<int64_t> dims) const {
  return make<BroadcastOp>(type(x, type(like).getShape()), x, like, builder.getDenseI64ArrayAttr(dims));
}

Value GradientBuilder::slice(Value x, int64_t dim, int64_t begin, int64_t size) const {
  SmallVector<int64_t> sizes(type(x).getShape());
  if (begin == 0 && sizes[dim] == size) return x;
  sizes[dim] = size;
  return make<SliceOp>(type(x, sizes), x, builder.getI64IntegerAttr(dim), builder.getI64IntegerAttr(begin),
                       builder.getI64IntegerAttr(size), /*step=*/IntegerAttr());
}

}  // namespace sheaf::nn
