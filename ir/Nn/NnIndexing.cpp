// Shapes and splitting of ops that take, turn or look up parts of a tensor.
#include "ir/Nn/Indexing.h"
#include "ir/Nn/Lengths.h"
#include "ir/Nn/ShapeRules.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using namespace sheaf::nn;
using ir::TensorShape;

namespace {

/// A size that an op must know; nullopt if a verifier can't see it. Emits an error if it depends on the batch or on a length.
FailureOr<std::optional<int64_t>> known_size(Operation* op, const TensorShape& x, int64_t dim, const char* does) {
  const Extent& size = x.dims[dim];
  if (size.is_static()) return std::optional<int64_t>(size.constant);
  if (size.terms.count("?")) return std::optional<int64_t>();
  auto error = op->emitError(does) << " dimension " << dim << ", which depends on " << opened_by(op, size) << " (input "
                                   << ir::to_string(x) << ")";
  return depends_on_rows(op, size) ? error << ": each device has rows of its own" : error;
}

/// x[:length] along `dim`. The source has room for every number that the length can be: its size is fixed, or is the length.
LogicalResult slice_to_length(StridedSliceOp op, StringRef length, int64_t dim, TensorShape& y) {
  if (op.getStart() != 0 || op.getEnd() || op.getStep() != 1)
    return op.emitError("expects a slice to the length '") << length << "' to begin at 0 and take every entry";
  const Extent to = Extent::symbol(length.str());
  const Extent& size = y.dims[dim];
  if (!size.is_static() && !ir::may_be_equal(size, to))
    return op.emitError("takes entries up to the length '")
           << length << "' of dimension " << dim << ", whose size isn't fixed (input " << ir::to_string(y) << ")";
  y.dims[dim] = to;
  return success();
}

std::optional<int64_t> all_but(std::optional<int64_t> touched, int64_t dim) {
  return touched == dim ? std::nullopt : std::optional<int64_t>(dim);
}

std::optional<int64_t> all_but(ArrayRef<int64_t> touched, int64_t rank, int64_t dim) {
  for (int64_t each : touched)
    if (ir::normalize_dim(each, rank) == dim) return std::nullopt;
  return dim;
}

/// The same elements in another order along `dims`, each listed once and of known size.
LogicalResult reordered(Operation* op, ArrayRef<int64_t> dims, const char* does, ArrayRef<TensorShape> operands,
                        SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  SmallVector<int64_t> seen;
  for (int64_t dim : dims) {
    auto normal = valid_dim(op, dim, x);
    if (!normal || failed(known_size(op, x, *normal, does))) return failure();
    if (llvm::is_contained(seen, *normal)) return op->emitError("names dimension ") << *normal << " twice";
    seen.push_back(*normal);
  }
  results.push_back(x);
  return success();
}

bool takes_everything(StridedSliceOp op) {
  return op.getStart() == 0 && !op.getEnd() && op.getStep() == 1 && !op->hasAttr(kLength);
}

LogicalResult require_indices(Operation* op, const TensorShape& index) {
  if (isa<IntegerType>(index.element) && index.element.getIntOrFloatBitWidth() >= 32) return success();
  return op->emitError("expects an index of dtype int64 or int32, but it is ") << dtype_name(index.element);
}

}  // namespace

namespace sheaf::nn {

Range resolved(StridedSliceOp op, int64_t size) {
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  int64_t begin = clamped(static_cast<int64_t>(op.getStart())), step = static_cast<int64_t>(op.getStep());
  int64_t end = op.getEnd() ? clamped(static_cast<int64_t>(*op.getEnd())) : size;
  return {begin, end > begin ? (end - begin - 1) / step + 1 : 0, step};
}

SmallVector<int64_t> part_sizes(SplitOp op, int64_t size) {
  SmallVector<int64_t> sizes(op.getSections());
  if (sizes.size() != 1) return sizes;
  const int64_t each = sizes[0];
  sizes.clear();
  for (int64_t begin = 0; begin < size; begin += each) sizes.push_back(std::min(each, size - begin));
  return sizes;
}

SmallVector<Margin> margins(BorderOp op, int64_t rank) {
  SmallVector<Margin> result(rank);
  for (size_t i = 0; i + 1 < op.getPad().size(); i += 2)
    result[rank - 1 - static_cast<int64_t>(i / 2)] = {op.getPad()[i], op.getPad()[i + 1]};
  return result;
}

}  // namespace sheaf::nn

LogicalResult StridedSliceOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  auto dim = valid_dim(*this, getDim(), y);
  if (!dim) return failure();
  if (static_cast<int64_t>(getStep()) < 1)
    return emitError("expects a positive step, but got ") << static_cast<int64_t>(getStep());
  if (auto length = (*this)->getAttrOfType<StringAttr>(kLength)) {
    if (failed(slice_to_length(*this, length.getValue(), *dim, y))) return failure();
  } else if (!takes_everything(*this)) {
    auto size = known_size(*this, y, *dim, "takes a part of");
    if (failed(size)) return failure();
    y.dims[*dim] = *size ? Extent(resolved(*this, **size).size) : Extent::symbol("?");
    if (y.dims[*dim] == Extent(0))
      return emitError("takes nothing of dimension ") << *dim << " of " << ir::to_string(operands[0]);
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> StridedSliceOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return takes_everything(*this) ? std::optional<int64_t>(dim) : all_but(ir::normalize_dim(getDim(), rank), dim);
}

LogicalResult SplitOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim) return failure();
  if (getSections().empty() || llvm::any_of(getSections(), [](int64_t size) { return size < 1; }))
    return emitError("expects parts of at least one entry, but got [") << getSections() << "]";
  auto size = known_size(*this, x, *dim, "splits");
  if (failed(size)) return failure();
  SmallVector<int64_t> sizes;
  if (*size) {
    sizes = part_sizes(*this, **size);
    int64_t sum = 0;
    for (int64_t part : sizes) sum += part;
    if (sum != **size)
      return emitError("expects parts that make up dimension ")
             << *dim << " of " << ir::to_string(x) << ", but got [" << getSections() << "]";
    if (getNumResults() > sizes.size() || (getSections().size() > 1 && getNumResults() != sizes.size()))
      return emitError("gives ") << sizes.size() << " parts of dimension " << *dim << " of " << ir::to_string(x) << ", but "
                                 << getNumResults() << " are used";
  }
  for (unsigned i = 0; i < getNumResults(); ++i) {
    TensorShape part = x;
    part.dims[*dim] = *size ? Extent(sizes[i]) : Extent::symbol("?");
    results.push_back(part);
  }
  return success();
}
std::optional<int64_t> SplitOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return all_but(ir::normalize_dim(getDim(), rank), dim);
}

LogicalResult RollOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (getShifts().size() != getDims().size())
    return emitError("expects a shift for each dimension, but got ") << getShifts().size() << " for " << getDims().size();
  return reordered(*this, getDims(), "rolls", operands, results);
}
std::optional<int64_t> RollOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but(getDims(), rank, dim); }
LogicalResult FlipOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  return reordered(*this, getDims(), "flips", operands, results);
}
std::optional<int64_t> FlipOp::splitDim(unsigned, int64_t rank, int64_t dim) { return all_but(getDims(), rank, dim); }

LogicalResult BorderOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  if (getPad().size() % 2 || static_cast<int64_t>(getPad().size()) > 2 * y.rank())
    return emitError("expects two numbers for each of at most ") << y.rank() << " dimensions, but got " << getPad().size();
  for (auto [dim, margin] : llvm::enumerate(margins(*this, y.rank()))) {
    if (margin.before == 0 && margin.after == 0) continue;
    auto size = known_size(*this, y, static_cast<int64_t>(dim), "pads");
    if (failed(size)) return failure();
    if (!*size) continue;
    const int64_t most = getMode() == "reflect" ? **size - 1 : **size;
    if (getMode() == "constant" ? **size + std::min<int64_t>(margin.before, 0) + std::min<int64_t>(margin.after, 0) < 1
                                : std::min(margin.before, margin.after) < 0)
      return emitError("leaves nothing of dimension ") << dim << " of " << ir::to_string(operands[0]);
    if (getMode() != "constant" && getMode() != "replicate" && std::max(margin.before, margin.after) > most)
      return emitError("has no more than ") << most << " entries of dimension " << dim << " of " << ir::to_string(operands[0])
                                            << " to pad it with, but got " << std::max(margin.before, margin.after);
    y.dims[dim] = Extent(**size + margin.before + margin.after);
  }
  results.push_back(y);
  return success();
}
std::optional<int64_t> BorderOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  if (static_cast<int64_t>(getPad().size()) > 2 * rank) return std::nullopt;
  const Margin margin = margins(*this, rank)[dim];
  return margin.before == 0 && margin.after == 0 ? std::optional<int64_t>(dim) : std::nullopt;
}

LogicalResult UnsqueezeOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  TensorShape y = operands[0];
  auto dim = ir::normalize_dim(getDim(), y.rank() + 1);
  if (!dim)
    return emitError("expects a dimension between ") << -y.rank() - 1 << " and " << y.rank() << " for an input of shape "
                                                     << ir::to_string(y) << ", but got " << static_cast<int64_t>(getDim());
  y.dims.insert(y.dims.begin() + *dim, Extent(1));
  results.push_back(y);
  return success();
}
std::optional<int64_t> UnsqueezeOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return dim + (dim >= ir::normalize_dim(getDim(), rank + 1));
}

LogicalResult SqueezeOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape& x = operands[0];
  SmallVector<bool> wanted(x.rank(), getDims().empty());
  for (int64_t dim : getDims()) {
    auto normal = valid_dim(*this, dim, x);
    if (!normal) return failure();
    wanted[*normal] = true;
  }
  TensorShape y{x.element, {}};
  for (auto [dim, size] : llvm::enumerate(x.dims))
    if (!wanted[dim] || !(size == Extent(1))) y.dims.push_back(size);
  results.push_back(y);
  return success();
}
std::optional<int64_t> SqueezeOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  auto x = dyn_cast<RankedTensorType>(getX().getType());
  if (!x || x.getRank() != rank) return std::nullopt;
  int64_t gone = 0;
  for (int64_t i = 0; i < dim; ++i) {
    bool wanted = getDims().empty();
    for (int64_t each : getDims()) wanted |= ir::normalize_dim(each, rank) == i;
    gone += wanted && x.getDimSize(i) == 1;
  }
  return dim - gone;
}

// Lookups.

LogicalResult IndexSelectOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &index = operands[0], &x = operands[1];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim || failed(require_indices(*this, index)) || failed(known_size(*this, x, *dim, "looks up entries of")))
    return failure();
  TensorShape y{x.element, {}};
  y.dims.append(x.dims.begin(), x.dims.begin() + *dim);
  y.dims.append(index.dims.begin(), index.dims.end());
  y.dims.append(x.dims.begin() + *dim + 1, x.dims.end());
  results.push_back(y);
  return success();
}
std::optional<int64_t> IndexSelectOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  auto index = dyn_cast<RankedTensorType>(getIndex().getType()), x = dyn_cast<RankedTensorType>(getX().getType());
  if (!index || !x) return std::nullopt;
  const int64_t at = *ir::normalize_dim(getDim(), x.getRank());
  if (operand == 0) return at + dim;
  if (dim == at) return std::nullopt;
  return dim < at ? dim : dim - 1 + index.getRank();
}

LogicalResult GatherElementsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &index = operands[0], &x = operands[1];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim || failed(require_indices(*this, index)) || failed(known_size(*this, x, *dim, "looks up entries of")))
    return failure();
  TensorShape expected{index.element, x.dims};
  if (index.rank() == x.rank()) expected.dims[*dim] = index.dims[*dim];
  if (failed(require_fit(*this, expected, index, "an index"))) return failure();
  results.push_back({x.element, index.dims});
  return success();
}
std::optional<int64_t> GatherElementsOp::splitDim(unsigned operand, int64_t rank, int64_t dim) {
  return operand == 0 ? std::optional<int64_t>(dim) : all_but(ir::normalize_dim(getDim(), rank), dim);
}

LogicalResult IndexSelectBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &index = operands[0], &dy = operands[1];
  const int64_t at = getDim(), size = getSize();
  if (failed(require_indices(*this, index))) return failure();
  bool fits = at >= 0 && size > 0 && at + index.rank() <= dy.rank();
  for (int64_t i = 0; fits && i < index.rank(); ++i) fits = ir::may_be_equal(index.dims[i], dy.dims[at + i]);
  if (!fits)
    return emitError("expects a gradient with the index's dimensions ")
           << ir::to_string(index) << " from dimension " << at << " on, but got " << ir::to_string(dy);
  TensorShape dx{dy.element, {}};
  dx.dims.append(dy.dims.begin(), dy.dims.begin() + at);
  dx.dims.push_back(Extent(size));
  dx.dims.append(dy.dims.begin() + at + index.rank(), dy.dims.end());
  results.push_back(dx);
  return success();
}
/// Entries that the index lists twice are added up, so a part of the index gives a part of the sum.
std::optional<int64_t> IndexSelectBackwardOp::splitDim(unsigned operand, int64_t, int64_t dim) {
  auto index = dyn_cast<RankedTensorType>(getIndex().getType());
  const int64_t at = getDim();
  if (!index || operand == 0 || (dim >= at && dim < at + index.getRank())) return std::nullopt;
  return dim < at ? dim : dim + 1 - index.getRank();
}

LogicalResult GatherElementsBackwardOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &index = operands[0], &dy = operands[1];
  if (failed(require_indices(*this, index))) return failure();
  if (failed(require_fit(*this, {dy.element, index.dims}, dy, "a gradient"))) return failure();
  auto dim = valid_dim(*this, getDim(), dy);
  if (!dim) return failure();
  TensorShape dx = dy;
  dx.dims[*dim] = Extent(static_cast<int64_t>(getSize()));
  results.push_back(dx);
  return success();
}
std::optional<int64_t> GatherElementsBackwardOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return all_but(ir::normalize_dim(getDim(), rank), dim);
}

LogicalResult ScatterElementsOp::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  const TensorShape &index = operands[0], &x = operands[1];
  auto dim = valid_dim(*this, getDim(), x);
  if (!dim || failed(require_indices(*this, index)) || failed(known_size(*this, x, *dim, "writes to entries of")))
    return failure();
  TensorShape expected{index.element, x.dims};
  if (index.rank() == x.rank()) expected.dims[*dim] = index.dims[*dim];
  if (failed(require_fit(*this, expected, index, "an index"))) return failure();
  if (getSource() && failed(require_fit(*this, {x.element, index.dims}, operands[2], "a source"))) return failure();
  if (!getSource() && (getAdd() || !isa<FloatType>(x.element))) return emitError("needs a source");
  if (getAdd() && failed(require_one_kind(*this, {x}, /*bools=*/false))) return failure();
  results.push_back(x);
  return success();
}
std::optional<int64_t> ScatterElementsOp::splitDim(unsigned, int64_t rank, int64_t dim) {
  return all_but(ir::normalize_dim(getDim(), rank), dim);
}
