// Element types: names, casts, and what sums are kept in.
#include "ir/Nn/Nn.h"

using namespace mlir;

namespace sheaf::nn {

FloatType float_type(MLIRContext* context, StringRef dtype) {
  if (dtype == "float32") return Float32Type::get(context);
  if (dtype == "bfloat16") return BFloat16Type::get(context);
  if (dtype == "float16") return Float16Type::get(context);
  return {};
}

Type sum_type(Type element) {
  return element.isBF16() || element.isF16() ? Float32Type::get(element.getContext()) : element;
}

Value cast_to(OpBuilder& builder, Location loc, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getElementType() == element) return x;
  StringRef name = element.isF32() ? "float32" : element.isBF16() ? "bfloat16" : "float16";
  return builder.create<CastOp>(loc, RankedTensorType::get(type.getShape(), element), x, builder.getStringAttr(name));
}

}  // namespace sheaf::nn
