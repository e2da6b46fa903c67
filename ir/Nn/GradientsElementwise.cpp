// Duals of element-wise ops.
#include "ir/Nn/Nn.h"
#include "ir/Scalars.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sheaf::nn;

DictionaryAttr sheaf::nn::activation_of(Operation* op) {
  Builder builder(op->getContext());
  auto dictionary = [&](StringRef kind, ArrayRef<NamedAttribute> arguments = {}) {
    SmallVector<NamedAttribute> entries = {builder.getNamedAttr("kind", builder.getStringAttr(kind))};
    llvm::append_range(entries, arguments);
    return builder.getDictionaryAttr(entries);
  };
  return llvm::TypeSwitch<Operation*, DictionaryAttr>(op)
      .Case([&](ReluOp) { return dictionary("relu"); })
      .Case([&](LeakyReluOp leaky) {
        return dictionary("leaky_relu", builder.getNamedAttr("negative_slope", leaky.getNegativeSlopeAttr()));
      })
      .Case([&](EluOp elu) { return dictionary("elu", builder.getNamedAttr("alpha", elu.getAlphaAttr())); })
      .Case([&](SiluOp) { return dictionary("silu"); })
      .Case([&](GeluOp gelu) { return dictionary(gelu.getTanhForm() ? "gelu_tanh" : "gelu"); })
      .Case([&](TanhOp) { return dictionary("tanh"); })
      .Case([&](SigmoidOp) { return dictionary("sigmoid"); })
      .Case([&](HardtanhOp clip) {
        return dictionary("hardtanh", {builder.getNamedAttr("min_val", clip.getMinValAttr()),
                                       builder.getNamedAttr("max_val", clip.getMaxValAttr())});
      })
      .Default([](Operation*) { return DictionaryAttr(); });
}

/// The result is used if it determines the derivative: the next layer often keeps it anyway.
static Value activation_gradient(GradientBuilder& gradients, Operation* op, Value dy) {
  DictionaryAttr activation = activation_of(op);
  bool from_result = sheaf::ir::scalar::gradient_takes_result(cast<StringAttr>(activation.get("kind")).getValue());
  // With a negative slope the result's sign doesn't determine the argument's.
  if (auto leaky = dyn_cast<LeakyReluOp>(op)) from_result = !leaky.getNegativeSlope().isNegative();
  Value value = gradients.forward(from_result ? op->getResult(0) : op->getOperand(0));
  return gradients.make<ActivationBackwardOp>(dy.getType(), dy, value, activation);
}

#define SHEAF_GRADIENT(OP) \
  void OP::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands)
#define SHEAF_ACTIVATION(OP)                                                                   \
  SHEAF_GRADIENT(OP) {                                                                         \
    if (gradients.needed(0u)) operands[0] = activation_gradient(gradients, *this, results[0]); \
  }
SHEAF_ACTIVATION(ReluOp)
SHEAF_ACTIVATION(LeakyReluOp)
SHEAF_ACTIVATION(EluOp)
SHEAF_ACTIVATION(SiluOp)
SHEAF_ACTIVATION(GeluOp)
SHEAF_ACTIVATION(TanhOp)
SHEAF_ACTIVATION(SigmoidOp)
SHEAF_ACTIVATION(HardtanhOp)
#undef SHEAF_ACTIVATION

SHEAF_GRADIENT(CastOp) {
  if (gradients.needed(0u))
    operands[0] = cast_to(gradients.builder, gradients.loc, results[0], gradients.type(getX()).getElementType());
}

SHEAF_GRADIENT(ExpandOp) {
  if (gradients.needed(0u)) operands[0] = gradients.sum_to(results[0], getX());
}

SHEAF_GRADIENT(ScaleOp) {
  if (gradients.needed(0u)) operands[0] = gradients.scale(results[0], getValue().convertToDouble());
}

SHEAF_GRADIENT(ExpOp) {
  if (gradients.needed(0u)) operands[0] = gradients.mul(results[0], gradients.forward(getY()));
}

/// d/dx (x + eps)^-1/2 = -1/2 · y³.
SHEAF_GRADIENT(RsqrtOp) {
  if (!gradients.needed(0u)) return;
  Value y = gradients.forward(getY());
  operands[0] = gradients.scale(gradients.mul(results[0], gradients.mul(y, gradients.mul(y, y))), -0.5);
}

SHEAF_GRADIENT(AddOp) {
  if (gradients.needed(0u)) operands[0] = gradients.sum_to(results[0], getA());
  if (gradients.needed(1u)) operands[1] = gradients.sum_to(results[0], getB());
}

SHEAF_GRADIENT(SubOp) {
  if (gradients.needed(0u)) operands[0] = gradients.sum_to(results[0], getA());
  if (gradients.needed(1u)) operands[1] = gradients.scale(gradients.sum_to(results[0], getB()), -1);
}

SHEAF_GRADIENT(MulOp) {
  if (gradients.needed(0u)) operands[0] = gradients.sum_to(gradients.mul(results[0], gradients.forward(getB())), getA());
  if (gradients.needed(1u)) operands[1] = gradients.sum_to(gradients.mul(results[0], gradients.forward(getA())), getB());
}

/// d(a / b) = da / b - y · db / b.
SHEAF_GRADIENT(DivOp) {
  Value quotient = gradients.div(results[0], gradients.forward(getB()));
  if (gradients.needed(0u)) operands[0] = gradients.sum_to(quotient, getA());
  if (gradients.needed(1u))
    operands[1] = gradients.scale(gradients.sum_to(gradients.mul(quotient, gradients.forward(getY())), getB()), -1);
}

/// The same mask again: seed, step, layer and position determine it.
SHEAF_GRADIENT(DropoutTrainOp) {
  if (gradients.needed(0u))
    operands[0] =
        gradients.make<DropoutTrainOp>(results[0].getType(), results[0], gradients.forward(getStep()),
                                       gradients.forward(getSeed()), getFirstRow() ? gradients.forward(getFirstRow()) : Value(),
                                       getPAttr(), getLayerAttr(), getRowsAttr(), getMaskDimsAttr());
}

/// The same slopes again, where x was not above 0.
SHEAF_GRADIENT(RreluTrainOp) {
  if (gradients.needed(0u))
    operands[0] = gradients.make<RreluTrainOp>(results[0].getType(), results[0], gradients.forward(getValue()),
                                               gradients.forward(getStep()), gradients.forward(getSeed()),
                                               getFirstRow() ? gradients.forward(getFirstRow()) : Value(), getLowerAttr(),
                                               getUpperAttr(), getLayerAttr(), getRowsAttr());
}
