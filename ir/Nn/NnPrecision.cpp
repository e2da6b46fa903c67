// Element types: names, casts, and the types sums are kept in.
#include "ir/Nn/Nn.h"

using namespace mlir;

namespace sheaf::nn {

FloatType float_type(MLIRContext* context, StringRef dtype) {
  if (dtype == "float32") return Float32Type::get(context);
  if (dtype == "bfloat16") return BFloat16Type::get(context);
  if (dtype == "float16") return Float16Type::get(context);
  return {};
}

Type element_type(MLIRContext* context, StringRef dtype) {
  if (FloatType real = float_type(context, dtype)) return real;
  if (dtype == "int64") return IntegerType::get(context, 64);
  if (dtype == "int32") return IntegerType::get(context, 32);
  if (dtype == "uint8") return IntegerType::get(context, 8, IntegerType::Unsigned);
  if (dtype == "bool") return IntegerType::get(context, 1);
  return {};
}

StringRef dtype_name(Type element) {
  if (element.isF32()) return "float32";
  if (element.isBF16()) return "bfloat16";
  if (element.isF16()) return "float16";
  if (element.isInteger(1)) return "bool";
  return element.getIntOrFloatBitWidth() == 64 ? "int64" : element.getIntOrFloatBitWidth() == 32 ? "int32" : "uint8";
}

Type promoted(Type a, Type b) { return a == b ? a : Float32Type::get(a.getContext()); }

Type sum_type(Type element) { return element.isBF16() || element.isF16() ? Float32Type::get(element.getContext()) : element; }

Value cast_to(OpBuilder& builder, Location loc, Value x, Type element) {
  auto type = cast<RankedTensorType>(x.getType());
  if (type.getElementType() == element) return x;
  return builder.create<CastOp>(loc, RankedTensorType::get(type.getShape(), element), x,
                                builder.getStringAttr(dtype_name(element)));
}

}  // namespace sheaf::nn
