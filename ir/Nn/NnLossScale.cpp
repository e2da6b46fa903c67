// Shapes and scalar definitions of loss scaling. The arithmetic is in ir/ScalarLossScale.cpp.
#include "ir/Nn/Operands.h"
#include "ir/Nn/ShapeRules.h"
#include "ir/ScalarArithmetic.h"

using namespace mlir;
namespace ir = sheaf::ir;
namespace scalar = sheaf::ir::scalar;
using namespace sheaf::nn;
using ir::TensorShape;

/// Scalars of floating point, and a result like the first.
static LogicalResult scalar_shape(Operation* op, ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results) {
  if (failed(require_float(op, operands))) return failure();
  for (const TensorShape& operand : operands)
    if (failed(require_scalar(op, operand, "a scalar"))) return failure();
  results.push_back(operands[0]);
  return success();
}

#define SHEAF_SCALAR(OP) Value OP::buildScalar(OpBuilder& b, Location loc, ValueRange in)
#define SHEAF_SHAPE(OP) LogicalResult OP::inferShapes(ArrayRef<TensorShape> operands, SmallVectorImpl<TensorShape>& results)
#define SHEAF_SPLIT(OP)                                                              \
  std::optional<int64_t> OP::splitDim(unsigned operand, int64_t rank, int64_t dim) { \
    return aligned_split(*this, operand, rank, dim);                                 \
  }

/// A sum over all elements.
std::optional<int64_t> NonfiniteOp::splitDim(unsigned, int64_t, int64_t) { return std::nullopt; }
SHEAF_SHAPE(NonfiniteOp) { return library_shapes(*this, operands, results); }

SHEAF_SPLIT(KeepUnlessFiniteOp)
SHEAF_SHAPE(KeepUnlessFiniteOp) {
  if (failed(require_float(*this, operands)) || failed(require_fit(*this, operands[0], operands[1], "an updated value")) ||
      failed(require_scalar(*this, operands[2], "a number of elements that aren't finite")))
    return failure();
  results.push_back(operands[0]);
  return success();
}
SHEAF_SCALAR(KeepUnlessFiniteOp) { return scalar::after_overflow(b, loc, in[2], in[0], in[1]); }

SHEAF_SPLIT(LossScaleOp)
SHEAF_SHAPE(LossScaleOp) { return scalar_shape(*this, operands, results); }
SHEAF_SCALAR(LossScaleOp) {
  return scalar::next_loss_scale(b, loc, in[0], in[1], in[2], getGrowthFactor().convertToDouble(),
                                 getBackoffFactor().convertToDouble(), static_cast<int64_t>(getGrowthInterval()));
}

SHEAF_SPLIT(GrowthTrackerOp)
SHEAF_SHAPE(GrowthTrackerOp) { return scalar_shape(*this, operands, results); }
SHEAF_SCALAR(GrowthTrackerOp) {
  return scalar::next_growth_tracker(b, loc, in[0], in[1], static_cast<int64_t>(getGrowthInterval()));
}
