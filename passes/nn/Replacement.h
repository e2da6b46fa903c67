// Building nn ops in place of one op.
#pragma once

#include "passes/Passes.h"

namespace sheaf::passes {

inline mlir::RankedTensorType type_of(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }

/// All dimensions of [N, C, …] but the channels'.
inline llvm::SmallVector<int64_t> dims_but_channels(int64_t rank) {
  llvm::SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != 1) dims.push_back(dim);
  return dims;
}

/// Creates ops before `op` that inherit its layer's type and place.
class Replacement {
 public:
  explicit Replacement(mlir::Operation* op) : builder(op), loc(op->getLoc()), op_(op) {}

  template <typename Op, typename... Args>
  Op make(mlir::TypeRange types, Args&&... args) {
    auto made = builder.create<Op>(loc, types, std::forward<Args>(args)...);
    inherit(made);
    return made;
  }
  /// `value` with elements of this type; `value` itself if it has them.
  mlir::Value cast_to(mlir::Value value, mlir::Type element) {
    mlir::Value made = nn::cast_to(builder, loc, value, element);
    if (made != value) inherit(made.getDefiningOp());
    return made;
  }
  /// A 0-dimensional float32.
  mlir::RankedTensorType scalar() { return mlir::RankedTensorType::get({}, builder.getF32Type()); }

  mlir::OpBuilder builder;
  mlir::Location loc;

 private:
  void inherit(mlir::Operation* made) {
    for (llvm::StringRef name : {nn::kType, nn::kDevice})
      if (mlir::Attribute attribute = op_->getAttr(name)) made->setAttr(name, attribute);
  }

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
