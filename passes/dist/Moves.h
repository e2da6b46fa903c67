// Brings values to where a step's end needs them, each once.
#pragma once

#include "passes/dist/Apply.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {

class Moves {
 public:
  explicit Moves(mlir::OpBuilder& builder) : builder_(builder) {}

  /// `value` on `place`, moved there once.
  mlir::Value on(mlir::Value value, mlir::Attribute place, llvm::StringRef reason) {
    mlir::Value& moved = moved_[{value, place}];
    if (!moved) moved = move_to(builder_, value, place, reason);
    return moved;
  }

  /// A value in shares, made whole on each replica; any other value itself.
  mlir::Value whole(mlir::Value value, llvm::StringRef reason) {
    if (!mlir::isa<dist::ShardedAttr>(layout_of(value))) return value;
    auto type = dist::PlacedType::get(builder_.getContext(), tensor_of(value), scalars_for(layout_of(value)));
    return builder_.create<dist::AllGatherOp>(value.getLoc(), type, value, builder_.getStringAttr(reason));
  }

 private:
  mlir::OpBuilder& builder_;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Attribute>, mlir::Value> moved_;
};

}  // namespace sheaf::passes
