// Loss scaling: torch.amp.GradScaler's formulas (aten's _amp_foreach_non_finite_check_and_unscale_ and _amp_update_scale_).
#include "ir/ScalarArithmetic.h"

#include <limits>

namespace sheaf::ir::scalar {

using namespace mlir;
using arith::CmpFPredicate;

namespace {

Value infinity(OpBuilder& b, Location loc) { return constant(b, loc, std::numeric_limits<double>::infinity()); }
Value size_of(OpBuilder& b, Location loc, Value x) { return b.create<math::AbsFOp>(loc, x); }

/// `tracker` + 1 < interval ? less : reached.
Value by_interval(OpBuilder& b, Location loc, Value tracker, int64_t interval, Value less, Value reached) {
  Value steps = add(b, loc, tracker, constant(b, loc, 1));
  return choose(b, loc, CmpFPredicate::OLT, steps, constant(b, loc, static_cast<double>(interval)), less, reached);
}

}  // namespace

Value after_overflow(OpBuilder& b, Location loc, Value nonfinite, Value then, Value otherwise) {
  return choose(b, loc, CmpFPredicate::OGT, nonfinite, constant(b, loc, 0), then, otherwise);
}

Value next_loss_scale(OpBuilder& b, Location loc, Value scale, Value tracker, Value nonfinite, double growth, double backoff,
                      int64_t interval) {
  Value grown = mul(b, loc, scale, constant(b, loc, growth));
  Value larger = choose(b, loc, CmpFPredicate::OLT, size_of(b, loc, grown), infinity(b, loc), grown, scale);
  return after_overflow(b, loc, nonfinite, mul(b, loc, scale, constant(b, loc, backoff)),
                        by_interval(b, loc, tracker, interval, scale, larger));
}

Value next_growth_tracker(OpBuilder& b, Location loc, Value tracker, Value nonfinite, int64_t interval) {
  Value zero = constant(b, loc, 0), more = add(b, loc, tracker, constant(b, loc, 1));
  return after_overflow(b, loc, nonfinite, zero, by_interval(b, loc, tracker, interval, more, zero));
}

}  // namespace sheaf::ir::scalar
