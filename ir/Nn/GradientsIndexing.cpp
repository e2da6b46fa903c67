// Duals of lookups: gradients go back to the positions that were read.
#include "ir/Nn/Nn.h"

using namespace mlir;
using namespace sheaf::nn;

namespace {

template <typename Backward, typename Op>
Value looked_up_gradient(GradientBuilder& gradients, Op op, Value dy) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  const int64_t dim = *sheaf::ir::normalize_dim(op.getDim(), x.getRank());
  return gradients.make<Backward>(x, gradients.forward(op.getIndex()), dy, gradients.builder.getI64IntegerAttr(dim),
                                  gradients.builder.getI64IntegerAttr(x.getDimSize(dim)));
}

}  // namespace

void IndexSelectOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(1u)) operands[1] = looked_up_gradient<IndexSelectBackwardOp>(gradients, *this, results[0]);
}
void GatherElementsOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  if (gradients.needed(1u)) operands[1] = looked_up_gradient<GatherElementsBackwardOp>(gradients, *this, results[0]);
}
/// Overwritten elements have no gradient; a source element's gradient is that of the place it was written to, as in PyTorch.
void ScatterElementsOp::buildGradient(GradientBuilder& gradients, ValueRange results, MutableArrayRef<Value> operands) {
  Value dy = results[0];
  if (gradients.needed(1u))
    operands[1] = getAdd() ? dy
                           : gradients.make<ScatterElementsOp>(dy.getType(), gradients.forward(getIndex()), dy, Value(),
                                                               getDimAttr(), UnitAttr(), gradients.builder.getF64FloatAttr(0));
  if (getSource() && gradients.needed(2u))
    operands[2] = gradients.make<GatherElementsOp>(getSource().getType(), gradients.forward(getIndex()), dy, getDimAttr());
}
