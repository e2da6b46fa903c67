// Kernels that carry something along a dimension: running products, log-sum-exps and extrema, and their gradients.
#include "codegen/kernels/line.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

namespace {

using Values = Emitter::Values;

/// body(i, carried) for i = 0 … n - 1, or the other way round.
void carry(Emitter& e, Value n, bool backwards, ArrayRef<Value> start, llvm::function_ref<Values(Value i, ValueRange)> body) {
  OpBuilder& b = e.builder;
  auto loop = b.create<scf::ForOp>(e.loc, e.constant(0), n, e.constant(1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getBody());
  Value i = loop.getInductionVar();
  if (backwards) i = b.create<arith::SubIOp>(e.loc, b.create<arith::SubIOp>(e.loc, n, e.constant(1)), i);
  b.create<scf::YieldOp>(e.loc, body(i, loop.getRegionIterArgs()));
}

/// Arithmetic in float64, with float32 on its way in and out.
struct Wide {
  Emitter& e;
  OpBuilder& b = e.builder;
  Value number(double x) const { return b.create<arith::ConstantOp>(e.loc, b.getF64FloatAttr(x)); }
  Value of(Value x) const { return b.create<arith::ExtFOp>(e.loc, b.getF64Type(), x); }
  Value narrow(Value x) const { return b.create<arith::TruncFOp>(e.loc, b.getF32Type(), x); }
  Value times(Value x, Value y) const { return b.create<arith::MulFOp>(e.loc, x, y); }
  Value plus(Value x, Value y) const { return b.create<arith::AddFOp>(e.loc, x, y); }
  Value equal(Value x, Value y) const { return b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::OEQ, x, y); }
  /// e^(x - y) of float32; 1 if they are equal, infinite or not.
  Value ratio(Value x, Value y) const {
    Value power = b.create<math::ExpOp>(e.loc, b.create<arith::SubFOp>(e.loc, x, y));
    return of(b.create<arith::SelectOp>(e.loc, equal(x, y), e.f32(1), power));
  }
};

void running_products(Emitter& e, const ScanSpec& spec, Value n, int x, int y, llvm::function_ref<Value(Value)> place) {
  OpBuilder& b = e.builder;
  Wide wide{e};
  if (!is_integer(spec.x)) {
    carry(e, n, false, {wide.number(1)}, [&](Value i, ValueRange before) {
      Value product = wide.times(before[0], wide.of(e.load(x, place(i))));
      e.store(y, place(i), wide.narrow(product));
      return Values{product};
    });
    return;
  }
  Value one = b.create<arith::ConstantIntOp>(e.loc, 1, spec.x.dtype == DType::int64 ? 64 : 32);
  carry(e, n, false, {one}, [&](Value i, ValueRange before) {
    Value product = b.create<arith::MulIOp>(e.loc, before[0], e.load(x, place(i)));
    e.store(y, place(i), product);
    return Values{product};
  });
}

/// Carries the maximum and Σ e^(x - maximum).
void running_log_sums(Emitter& e, Value n, int x, int y, llvm::function_ref<Value(Value)> place) {
  OpBuilder& b = e.builder;
  Wide wide{e};
  Value least = e.f32(-std::numeric_limits<double>::infinity());
  carry(e, n, false, {least, wide.number(0)}, [&](Value i, ValueRange before) {
    Value element = e.load(x, place(i));
    Value most = b.create<arith::MaximumFOp>(e.loc, before[0], element);
    Value sum = wide.plus(wide.times(before[1], wide.ratio(before[0], most)), wide.ratio(element, most));
    Value log = b.create<math::LogOp>(e.loc, wide.narrow(sum));
    e.store(y, place(i), b.create<arith::AddFOp>(e.loc, most, log));
    return Values{most, sum};
  });
}

}  // namespace

Result<KernelUse> build(Emitter& e, const ScanSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(spec.x.dtype);
  e.start();
  return each_line(e, line, [&](Value, Value first, Value stride) {
    auto place = [&](Value i) { return e.add(first, e.multiply(i, stride)); };
    if (spec.take == Scan::product) running_products(e, spec, e.size(line.n), x, y, place);
    else running_log_sums(e, e.size(line.n), x, y, place);
  });
}

/// Both gradients are dx[i] = u[i] · g[i] with g[i] = dy[i] + v[i + 1] · g[i + 1]: for products v = x and u[i] = y[i - 1], for
/// log-sum-exps v[i + 1] = e^(y[i] - y[i + 1]) and u[i] = e^(x[i] - y[i]). No factor is a quotient, so zeros do no harm.
Result<KernelUse> build(Emitter& e, const ScanBackwardSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.shape, spec.dim));
  const int dy = e.add_buffer(DType::float32), x = e.add_buffer(DType::float32), y = e.add_buffer(DType::float32);
  const int dx = e.add_buffer(DType::float32);
  e.start();
  OpBuilder& b = e.builder;
  return each_line(e, line, [&](Value, Value first, Value stride) {
    auto place = [&](Value i) { return e.add(first, e.multiply(i, stride)); };
    Wide wide{e};
    Value n = e.size(line.n), zero = e.constant(0), one = e.constant(1), last = b.create<arith::SubIOp>(e.loc, n, one);
    carry(e, n, true, {wide.number(0)}, [&](Value i, ValueRange after) {
      Value next = b.create<arith::MinSIOp>(e.loc, e.add(i, one), last);  // of the last, which has 0 after it, itself
      Value before = b.create<arith::MaxSIOp>(e.loc, b.create<arith::SubIOp>(e.loc, i, one), zero);
      Value from, here;
      if (spec.take == Scan::product) {
        from = wide.of(e.load(x, place(next)));
        Value is_first = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::eq, i, zero);
        here = wide.of(b.create<arith::SelectOp>(e.loc, is_first, e.f32(1), e.load(y, place(before))));
      } else {
        from = wide.ratio(e.load(y, place(i)), e.load(y, place(next)));
        here = wide.ratio(e.load(x, place(i)), e.load(y, place(i)));
      }
      Value is_last = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::eq, i, last);
      Value carried = b.create<arith::SelectOp>(e.loc, is_last, wide.number(0), wide.times(from, after[0]));
      Value g = wide.plus(wide.of(e.load(dy, place(i))), carried);
      e.store(dx, place(i), wide.narrow(wide.times(here, g)));
      return Values{g};
    });
  });
}

/// The last of equal elements, and of several NaNs, which are beyond any number.
Result<KernelUse> build(Emitter& e, const ArgScanSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(DType::int64);
  e.start();
  OpBuilder& b = e.builder;
  return each_line(e, line, [&](Value, Value first, Value stride) {
    auto place = [&](Value i) { return e.add(first, e.multiply(i, stride)); };
    carry(e, e.size(line.n), false, {e.load(x, first), e.constant(0)}, [&](Value i, ValueRange before) {
      Value element = e.load(x, place(i)), taken;
      if (is_integer(spec.x)) {
        const auto beyond = spec.minimum ? arith::CmpIPredicate::sle : arith::CmpIPredicate::sge;
        taken = b.create<arith::CmpIOp>(e.loc, beyond, element, before[0]);
      } else {
        const auto beyond = spec.minimum ? arith::CmpFPredicate::OLE : arith::CmpFPredicate::OGE;
        Value nan = b.create<arith::CmpFOp>(e.loc, arith::CmpFPredicate::UNO, element, element);
        taken = b.create<arith::OrIOp>(e.loc, nan, b.create<arith::CmpFOp>(e.loc, beyond, element, before[0]));
      }
      Value most = b.create<arith::SelectOp>(e.loc, taken, element, before[0]);
      Value found = b.create<arith::SelectOp>(e.loc, taken, i, before[1]);
      e.store(y, place(i), b.create<arith::IndexCastOp>(e.loc, b.getI64Type(), found));
      return Values{most, found};
    });
  });
}

}  // namespace sheaf::kernels
