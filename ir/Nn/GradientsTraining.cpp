// Duals of layers in their training form: batch norm, recurrent layers.
#include "ir/Nn/Nn.h"

using namespace mlir;
using namespace sheaf::nn;

#define SHEAF_GRADIENT(OP) \
  void OP::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands)

SHEAF_GRADIENT(BatchNormTrainOp) {
  if (results[1] || results[2]) {
    emitError("has no gradient of the statistics themselves");
    return;
  }
  SmallVector<Type> types = {getX().getType()};
  if (getWeight()) types.append({getWeight().getType(), getBias().getType()});
  Value weight = getWeight() ? gradients.forward(getWeight()) : Value();
  Value workspace = getWorkspace() ? gradients.forward(getWorkspace()) : Value();
  auto dual = gradients.builder.create<BatchNormBackwardOp>(gradients.loc, types, gradients.forward(getX()), results[0],
                                                            gradients.forward(getMean()), gradients.forward(getVar()), weight,
                                                            workspace, getEpsAttr(), getActivationAttr());
  llvm::copy(dual->getResults(), operands.begin());
}

/// One call computes the gradients of all operands, each of its operand's type. Gradients of results that the loss doesn't
/// depend on are left out.
SHEAF_GRADIENT(LstmTrainOp) {
  auto forward = [&](Value value) { return value ? gradients.forward(value) : Value(); };
  SmallVector<Value> weights = llvm::map_to_vector(getWeights(), forward);
  auto dual = gradients.builder.create<LstmBackwardOp>(
      gradients.loc, (*this)->getOperandTypes(), forward(getX()), forward(getH0()), forward(getC0()), weights, forward(getY()),
      forward(getHn()), forward(getCn()), forward(getWorkspace()), results[0], results[1], results[2], getHiddenSizeAttr(),
      getNumLayersAttr(), getBidirectionalAttr(), getBatchFirstAttr(), getBiasAttr());
  llvm::copy(dual->getResults(), operands.begin());
}

namespace {

/// The same for a layer with one state; `own` are its additional attributes.
template <typename Dual>
void one_state_gradient(auto op, GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands, auto... own) {
  auto forward = [&](Value value) { return value ? gradients.forward(value) : Value(); };
  SmallVector<Value> weights = llvm::map_to_vector(op.getWeights(), forward);
  auto dual = gradients.builder.create<Dual>(gradients.loc, op->getOperandTypes(), forward(op.getX()), forward(op.getH0()),
                                             weights, forward(op.getY()), forward(op.getHn()), forward(op.getWorkspace()),
                                             results[0], results[1], op.getHiddenSizeAttr(), op.getNumLayersAttr(),
                                             op.getBidirectionalAttr(), op.getBatchFirstAttr(), op.getBiasAttr(), own...);
  llvm::copy(dual->getResults(), operands.begin());
}

}  // namespace

SHEAF_GRADIENT(GruTrainOp) { one_state_gradient<GruBackwardOp>(*this, gradients, results, operands); }
SHEAF_GRADIENT(RnnTrainOp) { one_state_gradient<RnnBackwardOp>(*this, gradients, results, operands, getReluAttr()); }
