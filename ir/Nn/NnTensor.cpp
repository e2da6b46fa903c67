// Shapes, splitting and folding of operations that move elements or reduce along a dimension.
#include "ir/Nn/Lengths.h"
#include "ir/Nn/ShapeRules.h"
#include "runtime/base/extent_product.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// The product of sizes; at most one of them may depend on the batch, any number on lengths.
FailureOr<Extent> product_of_sizes(Operation* op, ArrayRef<Extent> dims, const TensorShape& x) {
  Extent total(1);
  for (const Extent& dim : dims) {
    if (depends_on_rows(op, total) && depends_on_rows(op, dim))
      return op->emitError("would multiply two sizes that depend on the batch (input ") << ir::to_string(x) << ")";
    total = size_product(total, dim);
  }
  return total;
}

/// A tensor's sizes that aren't fixed, each with the fixed ones that follow it up to the next; `front`: those before the first.
struct OpenSizes {
  struct Segment {
    int64_t dim, behind = 1;
  };
  int64_t front = 1;
  SmallVector<Segment> segments;
  explicit OpenSizes(auto&& sizes, auto is_open) {
    for (auto [i, size] : llvm::enumerate(sizes)) {
      if (is_open(size)) segments.push_back({static_cast<int64_t>(i)});
      else (segments.empty() ? front : segments.back().behind) *= size;
    }
  }
};

OpenSizes open_sizes(RankedTensorType type) { return OpenSizes(type.getShape(), ShapedType::isDynamic); }

/// Resolves several sizes of -1 to the input's own open ones, in order. The fixed sizes between two of them stay; those around
/// the first may change, and then the first changes too.
FailureOr<SmallVector<Extent>> own_open_sizes(ReshapeOp op, const TensorShape& x) {
  SmallVector<int64_t> sizes;
  for (const Extent& dim : x.dims) sizes.push_back(dim.is_static() ? dim.constant : -1);
  const auto is_open = [](int64_t size) { return size == -1; };
  const OpenSizes from(sizes, is_open), to(op.getShape(), is_open);
  bool fits = from.segments.size() == to.segments.size();
  for (size_t i = 1; fits && i < from.segments.size(); ++i) fits = from.segments[i].behind == to.segments[i].behind;
  SmallVector<Extent> found;
  if (fits) {
    for (const OpenSizes::Segment& segment : from.segments) found.push_back(x.dims[segment.dim]);
    const Extent whole = found[0] * (from.front * from.segments[0].behind);
    if (const auto first = whole.divided_by(to.front * to.segments[0].behind)) found[0] = *first;
    else fits = found[0] == Extent::symbol("?");
  }
  if (!fits) return op.emitError("cannot view an input of shape ") << ir::to_string(x) << " as [" << op.getShape() << "]";
  return found;
}

}  // namespace

LogicalResult SoftmaxOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  // A scalar accepts 0 and -1 as its dimension, as in PyTorch.
  bool scalar = operands[0].rank() == 0 && (getDim() == 0 || static_cast<int64_t>(getDim()) == -1);
  if (!scalar && !valid_dim(*this, getDim(), operands[0])) return failure();
  return same_shape(*this, operands, results);
}
std::optional<int64_t> SoftmaxOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}

LogicalResult GluOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  auto dim = valid_dim(*this, getDim(), operands[0]);
  if (!dim || failed(same_shape(*this, operands, results))) return failure();
  Extent& size = results[0].dims[*dim];
  if (size.terms.count("?")) return success();
  if (!size.is_static() || size.constant % 2 != 0)
    return emitError("expects an even size along dimension ") << *dim << " of its input " << ir::to_string(operands[0]);
  size = Extent(size.constant / 2);
  return success();
}
std::optional<int64_t> GluOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}

LogicalResult MeanOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(*this, operands))) return failure();
  return reduced_shape(*this, getDims(), getKeepdim(), operands, results);
}
std::optional<int64_t> MeanOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return reduced_split(getDims(), getKeepdim(), rank, dim);
}

LogicalResult ReshapeOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  FailureOr<Extent> total = product_of_sizes(*this, x.dims, x);
  if (failed(total)) return failure();
  TensorShape y{x.element, {}};
  Extent known(1);
  SmallVector<int64_t> open;
  auto named = (*this)->getAttrOfType<ArrayAttr>(kNamedSizes);
  for (auto [i, size] : llvm::enumerate(getShape())) {
    const StringRef length = named ? cast<StringAttr>(named[i]).getValue() : StringRef();
    FailureOr<Extent> own = length.empty() ? FailureOr<Extent>(Extent(size)) : parsed_length(*this, length);
    if (failed(own)) return failure();
    y.dims.push_back(*own);
    if (size == -1 && length.empty()) open.push_back(static_cast<int64_t>(i));
    else known = size_product(known, y.dims.back());
  }
  bool fits = open.empty() ? ir::may_be_equal(*total, known) : !(known == Extent(0));
  if (open.size() > 1) {
    if (named) return emitError("expects at most one size of -1 beside lengths");
    FailureOr<SmallVector<Extent>> own = own_open_sizes(*this, x);
    if (failed(own)) return failure();
    for (auto [dim, size] : llvm::zip(open, *own)) y.dims[dim] = size;
  } else if (open.size() == 1 && fits) {
    const std::optional<Extent> rest = total->terms.count("?") ? Extent::symbol("?") : divided(*total, known);
    fits = rest.has_value();
    if (fits) y.dims[open[0]] = *rest;
  }
  if (!fits) return emitError("cannot view an input of shape ") << ir::to_string(x) << " as [" << getShape() << "]";
  results.push_back(y);
  return success();
}
/// A chunk stays contiguous if, at the dimension whose size depends on the batch, as many elements precede it in y as in x.
/// Open sizes have the same order in y as in x.
std::optional<int64_t> ReshapeOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  auto x = dyn_cast<RankedTensorType>(getX().getType()), y = dyn_cast<RankedTensorType>(getY().getType());
  if (!x || !y || x.getRank() != rank) return std::nullopt;
  const OpenSizes before(x.getShape().take_front(dim), ShapedType::isDynamic), all = open_sizes(y);
  const size_t order = before.segments.size();
  if (order >= all.segments.size() || before.front != all.front) return std::nullopt;
  for (size_t i = 0; i < order; ++i)
    if (before.segments[i].behind != all.segments[i].behind) return std::nullopt;
  return all.segments[order].dim;
}
/// A reshape to its operand's type is dropped (if at most one size is unknown).
OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  auto type = dyn_cast<RankedTensorType>(getX().getType());
  return type && type == getY().getType() && type.getNumDynamicDims() <= 1 ? getX() : OpFoldResult();
}

LogicalResult FlattenOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape x = operands[0];
  if (x.rank() == 0) x.dims.push_back(Extent(1));
  auto first = valid_dim(*this, getStartDim(), x), last = valid_dim(*this, getEndDim(), x);
  if (!first || !last) return failure();
  if (*first > *last) return emitError("expects start_dim not to come after end_dim");
  FailureOr<Extent> size = product_of_sizes(*this, ArrayRef(x.dims).slice(*first, *last - *first + 1), x);
  if (failed(size)) return failure();
  TensorShape y{x.element, {}};
  y.dims.append(x.dims.begin(), x.dims.begin() + *first);
  y.dims.push_back(*size);
  y.dims.append(x.dims.begin() + *last + 1, x.dims.end());
  results.push_back(y);
  return success();
}
std::optional<int64_t> FlattenOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  auto first = ir::normalize_dim(getStartDim(), rank), last = ir::normalize_dim(getEndDim(), rank);
  if (!first || !last) return std::nullopt;
  if (dim <= *first) return dim;  // the outermost flattened dimension stays in one piece
  return dim > *last ? std::optional<int64_t>(dim - (*last - *first)) : std::nullopt;
}

LogicalResult UnflattenOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim) return failure();
  const Extent& whole = x.dims[*dim];
  TensorShape y{x.element, {}};
  y.dims.append(x.dims.begin(), x.dims.begin() + *dim);
  int64_t known = 1, open = -1;
  for (int64_t size : getSizes()) {
    if (size == -1 && open < 0) open = y.rank();
    else if (size < 1) return emitError("expects sizes of at least 1, or one of -1, but got [") << getSizes() << "]";
    else known *= size;
    y.dims.push_back(Extent(size));
  }
  bool fits = open >= 0 || ir::may_be_equal(whole, Extent(known));
  if (open >= 0) {
    const std::optional<Extent> rest = whole.terms.count("?") ? Extent::symbol("?") : divided(whole, Extent(known));
    fits = rest.has_value();
    if (fits) y.dims[open] = *rest;
  }
  if (!fits) return emitError("cannot view dimension ") << *dim << " of " << ir::to_string(x) << " as [" << getSizes() << "]";
  y.dims.append(x.dims.begin() + *dim + 1, x.dims.end());
  results.push_back(y);
  return success();
}
/// What is cut stays contiguous in the outermost of the sizes.
std::optional<int64_t> UnflattenOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  const auto own = ir::normalize_dim(getDim(), rank);
  if (!own || (dim == *own && getSizes()[0] != -1)) return std::nullopt;
  return dim <= *own ? dim : dim + static_cast<int64_t>(getSizes().size()) - 1;
}

LogicalResult PermuteOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  SmallVector<bool> seen(x.rank());
  TensorShape y{x.element, {}};
  for (int64_t dim : getDims()) {
    auto normal = valid_dim(*this, dim, x);
    if (!normal) return failure();
    if (seen[*normal]) return emitError("names dimension ") << *normal << " twice";
    seen[*normal] = true;
    y.dims.push_back(x.dims[*normal]);
  }
  if (y.rank() != x.rank()) return emitError("expects ") << x.rank() << " dimensions, but got " << y.rank();
  results.push_back(y);
  return success();
}
std::optional<int64_t> PermuteOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  for (auto [i, source] : llvm::enumerate(getDims()))
    if (ir::normalize_dim(source, rank) == dim) return static_cast<int64_t>(i);
  return std::nullopt;
}
/// The identity permutation is dropped.
OpFoldResult PermuteOp::fold(FoldAdaptor) {
  if (getX().getType() != getY().getType()) return {};  // before shape inference
  for (auto [i, source] : llvm::enumerate(getDims()))
    if (source != static_cast<int64_t>(i)) return {};
  return getX();
}

LogicalResult SelectOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim) return failure();
  const Extent& size = x.dims[*dim];
  int64_t index = getIndex();
  if (size.is_static() && (index >= size.constant || index < -size.constant))
    return emitError("expects an index between ") << -size.constant << " and " << size.constant - 1 << ", but got " << index;
  // Every length has a first and a last entry.
  if (!size.is_static() && !size.terms.count("?") && (depends_on_rows(*this, size) || (index != 0 && index != -1)))
    return emitError("selects entry ") << index << " of a dimension that depends on " << opened_by(*this, size) << " (input "
                                       << ir::to_string(x) << ")";
  TensorShape y = x;
  y.dims.erase(y.dims.begin() + *dim);
  results.push_back(y);
  return success();
}
std::optional<int64_t> SelectOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  auto selected = ir::normalize_dim(getDim(), rank);
  if (selected == dim) return std::nullopt;
  return dim - (selected < dim);
}

LogicalResult SliceOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  auto dim = valid_dim(*this, getDim(), operands[0]);
  if (!dim) return failure();
  const Extent& size = operands[0].dims[*dim];
  const int64_t begin = getBegin(), count = getSize(), step = getStep(), last = begin + (count - 1) * step;
  const int64_t lowest = count > 0 ? std::min(begin, last) : begin, beyond = count > 0 ? std::max(begin, last) + 1 : begin;
  if (lowest < 0 || count < 0 || step == 0 || (size.is_static() && beyond > size.constant))
    return emitError("expects a range inside dimension ") << *dim << " of " << ir::to_string(operands[0]);
  TensorShape y = operands[0];
  y.dims[*dim] = count;
  if (auto length = (*this)->getAttrOfType<StringAttr>(kLength)) y.dims[*dim] = Extent::symbol(length.str());
  results.push_back(y);
  return success();
}
std::optional<int64_t> SliceOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}

LogicalResult DropoutOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  results.push_back(operands[0]);
  return success();
}
std::optional<int64_t> DropoutOp::splitDim(unsigned, int64_t, int64_t dim) { return dim; }
LogicalResult IdentityOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  results.push_back(operands[0]);
  return success();
}
std::optional<int64_t> IdentityOp::splitDim(unsigned, int64_t, int64_t dim) { return dim; }

LogicalResult ConcatOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (operands.empty()) return emitError("expects at least one input");
  TensorShape y = operands[0];
  auto dim = valid_dim(*this, getDim(), y);
  if (!dim) return failure();
  for (const TensorShape& x : operands.drop_front()) {
    bool floats = isa<FloatType>(x.element) && isa<FloatType>(y.element);
    if (!floats && x.element != y.element)
      return emitError("expects inputs of one dtype, but got ") << dtype_name(y.element) << " and " << dtype_name(x.element);
    if (floats) y.element = promoted(y.element, x.element);
    bool fits = x.rank() == y.rank();
    for (int64_t i = 0; fits && i < y.rank(); ++i) fits = i == *dim || ir::may_be_equal(x.dims[i], y.dims[i]);
    if (!fits)
      return emitError("expects inputs that agree except in dimension ")
             << *dim << ", but got " << ir::to_string(operands[0]) << " and " << ir::to_string(x);
    y.dims[*dim] = y.dims[*dim] + x.dims[*dim];
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> ConcatOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return ir::normalize_dim(getDim(), rank) == dim ? std::nullopt : std::optional<int64_t>(dim);
}
