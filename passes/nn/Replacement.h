// Building nn ops in place of one op.
#pragma once

#include "passes/Passes.h"

namespace sheaf::passes {

inline mlir::RankedTensorType type_of(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

/// Creates ops before `op` that inherit its layer's type and place.
class Replacement {
 public:
  explicit Replacement(mlir::Operation* op) : builder(op), loc(op->getLoc()), op_(op) {}

  template <typename Op, typename... Args>
  Op make(mlir::TypeRange types, Args&&... args) {
    auto made = builder.create<Op>(loc, types, std::forward<Args>(args)...);
    for (llvm::StringRef name : {nn::kType, nn::kDevice})
      if (mlir::Attribute attribute = op_->getAttr(name)) made->setAttr(name, attribute);
    return made;
  }
  /// A 0-dimensional float32.
  mlir::RankedTensorType scalar() { return mlir::RankedTensorType::get({}, builder.getF32Type()); }

  mlir::OpBuilder builder;
  mlir::Location loc;

 private:
  mlir::Operation* op_;
};

/// A loss as softmax, element-wise ops and sums.
struct LossParts {
  mlir::Value loss;
  /// The divisor of the sum over a whole batch; null if the sum is the loss itself.
  mlir::Value divisor;
};

/// Builds the parts in front of `op`. With `undivided`, `loss` is a sum over the rows even if the reduction is "mean": then
/// `divisor` is these rows' part of the divisor.
LossParts take_apart(nn::LossOp op, bool undivided);

}  // namespace sheaf::passes
