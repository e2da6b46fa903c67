// Scalar definitions of element-wise ops: how to compute one element of the result. Generated kernels for every target are made
// from these, alone or fused. The arithmetic itself is in ir/Scalars.h.
#include "ir/ScalarExpression.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
namespace scalar = sheaf::ir::scalar;

namespace sheaf::nn {

#define SHEAF_SCALAR(OP) Value OP::buildScalar(OpBuilder& b, Location loc, ValueRange in)

SHEAF_SCALAR(ReluOp) { return scalar::relu(b, loc, in[0]); }
SHEAF_SCALAR(LeakyReluOp) { return scalar::leaky_relu(b, loc, in[0], getNegativeSlope().convertToDouble()); }
SHEAF_SCALAR(EluOp) { return scalar::elu(b, loc, in[0], getAlpha().convertToDouble()); }
SHEAF_SCALAR(SiluOp) { return scalar::silu(b, loc, in[0]); }
SHEAF_SCALAR(GeluOp) { return getTanhForm() ? scalar::gelu_tanh(b, loc, in[0]) : scalar::gelu(b, loc, in[0]); }
SHEAF_SCALAR(TanhOp) { return scalar::tanh(b, loc, in[0]); }
SHEAF_SCALAR(SigmoidOp) { return scalar::sigmoid(b, loc, in[0]); }
SHEAF_SCALAR(HardtanhOp) {
  return scalar::hardtanh(b, loc, in[0], getMinVal().convertToDouble(), getMaxVal().convertToDouble());
}
SHEAF_SCALAR(ScaleOp) { return b.create<arith::MulFOp>(loc, in[0], scalar::constant(b, loc, getValue().convertToDouble())); }
SHEAF_SCALAR(CastOp) {
  // Kernels compute in f32; they widen what they load and round what they store.
  mlir::Type from = cast<RankedTensorType>(getX().getType()).getElementType();
  mlir::Type to = cast<RankedTensorType>(getY().getType()).getElementType();
  mlir::Type element = isa<FloatType>(to) ? mlir::Type(b.getF32Type()) : b.getIntegerType(to.getIntOrFloatBitWidth());
  return scalar::cast(b, loc, in[0], from.isUnsignedInteger() || from.isInteger(1), element, to.isUnsignedInteger());
}
SHEAF_SCALAR(ExpandOp) { return in[0]; }
// For floats or integers.
SHEAF_SCALAR(AddOp) { return (scalar::Expression{&b, loc, in[0]} + scalar::Expression{&b, loc, in[1]}).value; }
SHEAF_SCALAR(SubOp) { return (scalar::Expression{&b, loc, in[0]} - scalar::Expression{&b, loc, in[1]}).value; }
SHEAF_SCALAR(MulOp) { return (scalar::Expression{&b, loc, in[0]} * scalar::Expression{&b, loc, in[1]}).value; }
SHEAF_SCALAR(DivOp) { return b.create<arith::DivFOp>(loc, in[0], in[1]); }
SHEAF_SCALAR(ExpOp) { return b.create<math::ExpOp>(loc, in[0]); }
SHEAF_SCALAR(RsqrtOp) { return scalar::batch_norm_factor(b, loc, /*gamma=*/Value(), in[0], getEps().convertToDouble()); }

SHEAF_SCALAR(BatchNormOp) {
  // Operands: x, mean, var, then weight and bias if present.
  unsigned next = 3;
  Value weight = getWeight() ? in[next++] : Value(), bias = getBias() ? in[next] : Value();
  return scalar::batch_norm(b, loc, in[0], in[1], in[2], weight, bias, getEps().convertToDouble());
}
SHEAF_SCALAR(FoldWeightOp) {
  Value factor = scalar::batch_norm_factor(b, loc, getWeight() ? in[2] : Value(), in[1], getEps().convertToDouble());
  return b.create<arith::MulFOp>(loc, in[0], factor);
}
SHEAF_SCALAR(FoldBiasOp) {
  // The batch norm of the convolution's bias. Operands: mean, var, then the convolution's bias, and weight and bias if present.
  unsigned next = 2;
  Value x = getBias0() ? in[next++] : scalar::constant(b, loc, 0);
  Value weight = getWeight() ? in[next++] : Value(), bias = getBias() ? in[next] : Value();
  return scalar::batch_norm(b, loc, x, in[0], in[1], weight, bias, getEps().convertToDouble());
}
#undef SHEAF_SCALAR

Value buildActivation(OpBuilder& b, Location loc, DictionaryAttr activation, Value x) {
  StringRef kind = cast<StringAttr>(activation.get("kind")).getValue();
  auto number = [&](StringRef name) { return cast<FloatAttr>(activation.get(name)).getValueAsDouble(); };
  if (kind == "relu") return scalar::relu(b, loc, x);
  if (kind == "leaky_relu") return scalar::leaky_relu(b, loc, x, number("negative_slope"));
  if (kind == "elu") return scalar::elu(b, loc, x, number("alpha"));
  if (kind == "silu") return scalar::silu(b, loc, x);
  if (kind == "gelu") return scalar::gelu(b, loc, x);
  if (kind == "gelu_tanh") return scalar::gelu_tanh(b, loc, x);
  if (kind == "tanh") return scalar::tanh(b, loc, x);
  if (kind == "sigmoid") return scalar::sigmoid(b, loc, x);
  return scalar::hardtanh(b, loc, x, number("min_val"), number("max_val"));
}

}  // namespace sheaf::nn
