#include "ir/Shapes.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace sheaf::ir {

RankedTensorType tensor_type(const TensorShape& shape) {
  SmallVector<int64_t> sizes;
  for (const Extent& dim : shape.dims) sizes.push_back(dim.is_static() ? dim.constant : ShapedType::kDynamic);
  return RankedTensorType::get(sizes, shape.element);
}

TensorShape shape_of(RankedTensorType type, StringRef dynamic_symbol) {
  TensorShape shape{type.getElementType(), {}};
  for (int64_t size : type.getShape())
    shape.dims.push_back(ShapedType::isDynamic(size) ? Extent::symbol(dynamic_symbol.str()) : Extent(size));
  return shape;
}

std::string to_string(const TensorShape& shape) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(shape.dims)) text += (i ? ", " : "") + sheaf::to_string(dim);
  return text + "]";
}

bool may_be_equal(const Extent& a, const Extent& b) { return a == b || a.terms.count("?") || b.terms.count("?"); }

bool may_fit(const TensorShape& a, const TensorShape& b) {
  return a.rank() == b.rank() &&
         llvm::all_of(llvm::zip(a.dims, b.dims), [](auto pair) { return may_be_equal(std::get<0>(pair), std::get<1>(pair)); });
}

std::optional<int64_t> normalize_dim(int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank) return std::nullopt;
  return dim < 0 ? dim + rank : dim;
}

}  // namespace sheaf::ir
