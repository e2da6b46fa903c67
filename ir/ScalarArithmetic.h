// Short names for the arithmetic in scalar definitions (ir/Scalars*.cpp).
#pragma once

#include "ir/Scalars.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace sheaf::ir::scalar {

inline Value add(OpBuilder& b, Location loc, Value x, Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
inline Value sub(OpBuilder& b, Location loc, Value x, Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
inline Value mul(OpBuilder& b, Location loc, Value x, Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
inline Value div(OpBuilder& b, Location loc, Value x, Value y) { return b.create<mlir::arith::DivFOp>(loc, x, y); }
inline Value neg(OpBuilder& b, Location loc, Value x) { return b.create<mlir::arith::NegFOp>(loc, x); }
inline Value exp(OpBuilder& b, Location loc, Value x) { return b.create<mlir::math::ExpOp>(loc, x); }
inline Value sqrt(OpBuilder& b, Location loc, Value x) { return b.create<mlir::math::SqrtOp>(loc, x); }

/// predicate(x, bound) ? then : otherwise. Ordered predicates are false for NaN.
inline Value choose(OpBuilder& b, Location loc, mlir::arith::CmpFPredicate predicate, Value x, Value bound, Value then,
                    Value otherwise) {
  return b.create<mlir::arith::SelectOp>(loc, b.create<mlir::arith::CmpFOp>(loc, predicate, x, bound), then, otherwise);
}

}  // namespace sheaf::ir::scalar
