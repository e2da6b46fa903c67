#include "ir/Nn/ShapeRules.h"

#include "ir/Nn/Lengths.h"
#include "runtime/base/extent_product.h"
#include "runtime/ops/shapes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using sheaf::Extent;
namespace ir = sheaf::ir;
using ir::TensorShape;

namespace sheaf::nn {

/// Whether `symbol` is one of the program's lengths; every other symbol counts rows or replicas.
static bool is_length(Operation* op, const std::string& symbol) {
  auto function = op->getParentOfType<func::FuncOp>();
  auto lengths = function ? function->getAttrOfType<DictionaryAttr>(kLengths) : DictionaryAttr();
  return lengths && lengths.contains(symbol);
}

bool depends_on_rows(Operation* op, const Extent& size) {
  return !is_unknown(size) && llvm::any_of(symbols_in(size), [&](const std::string& symbol) { return !is_length(op, symbol); });
}

std::string opened_by(Operation* op, const Extent& size) {
  for (const std::string& symbol : symbols_in(size))
    if (is_length(op, symbol) && !depends_on_rows(op, size)) return "the length '" + symbol + "'";
  return "the batch";
}

FailureOr<Extent> parsed_length(Operation* op, StringRef text) {
  Result<Extent> size = parse_extent(text.str());
  if (!size || size->is_static() || depends_on_rows(op, *size))
    return op->emitError("names a size '") << text << "' that is no length";
  return *size;
}

Extent size_product(const Extent& a, const Extent& b) {
  return is_unknown(a) || is_unknown(b) ? Extent::symbol("?") : multiplied(a, b);
}

LogicalResult require_float(Operation* op, Shapes operands) {
  for (const TensorShape& shape : operands)
    if (!isa<FloatType>(shape.element))
      return op->emitError("computes with floating-point numbers, but an input is ")
             << dtype_name(shape.element)
             << "; declare the model's input as float32: data of integers is converted when it is read";
  return success();
}

LogicalResult require_one_kind(Operation* op, Shapes operands, bool bools) {
  const Type first = operands[0].element;
  for (const TensorShape& shape : operands) {
    const bool known = isa<FloatType>(shape.element) || shape.element.isSignlessInteger(64) ||
                       shape.element.isSignlessInteger(32) || (bools && shape.element.isSignlessInteger(1));
    if (!known)
      return op->emitError("computes with floating-point numbers, int64")
             << (bools ? ", int32 and bool" : " and int32") << ", but an input is " << dtype_name(shape.element)
             << "; put a Cast before it";
    if (shape.element != first && !(isa<FloatType>(shape.element) && isa<FloatType>(first)))
      return op->emitError("computes with inputs of one type, but they are ")
             << dtype_name(first) << " and " << dtype_name(shape.element) << "; put a Cast before one of them";
  }
  return success();
}

LogicalResult require_vectors(Operation* op, Shapes vectors, const Extent& size) {
  for (const TensorShape& vector : vectors)
    if (vector.rank() != 1 || !ir::may_be_equal(vector.dims[0], size))
      return op->emitError("expects ") << sheaf::to_string(size) << " channels, but a statistic or parameter has shape "
                                       << ir::to_string(vector);
  return success();
}

LogicalResult require_scalar(Operation* op, const TensorShape& shape, const char* what) {
  if (shape.rank() != 0) return op->emitError("expects ") << what << " without dimensions, but got " << ir::to_string(shape);
  return success();
}

LogicalResult require_fit(Operation* op, const TensorShape& expected, const TensorShape& found, const char* what) {
  if (!ir::may_fit(expected, found))
    return op->emitError("expects ") << what << " of shape " << ir::to_string(expected) << ", but got " << ir::to_string(found);
  return success();
}

LogicalResult require_static_image(Operation* op, const TensorShape& image, int64_t spatial) {
  for (int64_t i = std::max<int64_t>(image.rank() - spatial, 0); i < image.rank(); ++i)
    if (!image.dims[i].is_static() && !image.dims[i].terms.count("?"))
      return op->emitError("expects spatial sizes that don't depend on ")
             << opened_by(op, image.dims[i]) << ", but the input is " << ir::to_string(image);
  return success();
}

LogicalResult same_shape(Operation* op, Shapes operands, ShapeList& results) {
  if (failed(require_float(op, operands))) return failure();
  results.push_back(operands[0]);
  return success();
}

LogicalResult broadcast_dims(Operation* op, TensorShape& y, const TensorShape& b) {
  const TensorShape a = y;
  y.dims.clear();
  y.dims.resize(std::max(a.rank(), b.rank()));
  for (int64_t i = 0; i < y.rank(); ++i) {
    int64_t ia = i - (y.rank() - a.rank()), ib = i - (y.rank() - b.rank());
    if (ia < 0 || ib < 0) {
      y.dims[i] = ia < 0 ? b.dims[ib] : a.dims[ia];
    } else if (a.dims[ia] == Extent(1)) {
      y.dims[i] = b.dims[ib];
    } else if (b.dims[ib] == Extent(1) || ir::may_be_equal(a.dims[ia], b.dims[ib])) {
      y.dims[i] = a.dims[ia].terms.count("?") ? b.dims[ib] : a.dims[ia];
      if (b.dims[ib] == Extent(1)) y.dims[i] = a.dims[ia];
    } else {
      return op->emitError("expects inputs whose shapes broadcast, but got ")
             << ir::to_string(a) << " and " << ir::to_string(b);
    }
  }
  return success();
}

static LogicalResult broadcast_pair(Operation* op, Shapes operands, ShapeList& results) {
  TensorShape y = operands[0];
  if (failed(broadcast_dims(op, y, operands[1]))) return failure();
  y.element = promoted(operands[0].element, operands[1].element);
  results.push_back(y);
  return success();
}

LogicalResult broadcast_shape(Operation* op, Shapes operands, ShapeList& results) {
  return failed(require_float(op, operands)) ? failure() : broadcast_pair(op, operands, results);
}

LogicalResult broadcast_numbers(Operation* op, Shapes operands, ShapeList& results) {
  return failed(require_one_kind(op, operands, /*bools=*/false)) ? failure() : broadcast_pair(op, operands, results);
}

LogicalResult reduced_shape(Operation* op, ArrayRef<int64_t> dims, bool keepdim, Shapes operands, ShapeList& results) {
  const TensorShape& x = operands[0];
  SmallVector<bool> reduced(x.rank());
  for (int64_t dim : dims) {
    auto normal = valid_dim(op, dim, x);
    if (!normal) return failure();
    if (reduced[*normal]) return op->emitError("names dimension ") << *normal << " twice";
    reduced[*normal] = true;
  }
  TensorShape y{x.element, {}};
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (!reduced[i]) y.dims.push_back(x.dims[i]);
    else if (keepdim) y.dims.push_back(Extent(1));
  }
  results.push_back(y);
  return success();
}

std::optional<int64_t> reduced_split(ArrayRef<int64_t> dims, bool keepdim, int64_t rank, int64_t dim) {
  int64_t before = 0;
  for (int64_t reduced : dims) {
    auto normal = ir::normalize_dim(reduced, rank);
    if (normal == dim) return std::nullopt;
    before += normal < dim && !keepdim;
  }
  return dim - before;
}

std::optional<int64_t> aligned_split(Operation* op, unsigned operand, int64_t rank, int64_t dim) {
  auto result = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!result) return std::nullopt;
  auto elementwise = cast<ElementwiseOpInterface>(op);
  SmallVector<int64_t> dims = elementwise.operandDims(operand, rank, result.getRank());
  return dim < static_cast<int64_t>(dims.size()) ? std::optional<int64_t>(dims[dim]) : std::nullopt;
}

std::optional<int64_t> valid_dim(Operation* op, int64_t dim, const TensorShape& x) {
  auto normal = ir::normalize_dim(dim, x.rank());
  if (!normal && x.rank() == 0) op->emitError("expects an input that has dimensions, but it is a scalar");
  else if (!normal)
    op->emitError("expects a dimension between ")
        << -x.rank() << " and " << x.rank() - 1 << " for an input of shape " << ir::to_string(x) << ", but got " << dim;
  return normal;
}

TensorShape workspace_shape(MLIRContext* context) { return {IntegerType::get(context, 8, IntegerType::Unsigned), {Extent(1)}}; }

}  // namespace sheaf::nn
