// Kernels that go along one dimension, element by element: running sums, and positions of extrema.
#include "codegen/kernels/line.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

Result<Line> line_of(const std::string& name, const Shape& shape, int64_t dim) {
  SHEAF_ASSIGN(auto at, checked_dim(name, dim, shape.size()));
  const auto d = static_cast<size_t>(at);
  auto outer = product(shape, 0, d), inner = product(shape, d + 1, shape.size());
  if (!outer || !inner || !product(*outer, *inner)) return Error(name + ": sizes around the dimension have no linear product");
  return Line{*outer, shape[d], *inner};
}

KernelUse each_line(Emitter& e, const Line& line, llvm::function_ref<void(Value item, Value first, Value stride)> body) {
  e.parallel(e.begin(), e.end(), [&](Value flat) {
    Emitter::Values at = e.decompose(flat, {{line.outer, {}}, {line.inner, {}}}, 2);
    Value slab = e.multiply(e.multiply(at[0], e.size(line.n)), e.size(line.inner));
    body(flat, e.add(slab, at[1]), e.size(line.inner));
  });
  KernelUse use;
  use.work = *product(line.outer, line.inner);
  use.grain = grain_for(4 * typical_size(line.n));
  return use;
}

Result<KernelUse> build(Emitter& e, const CumSumSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(spec.x.dtype);
  e.start();
  OpBuilder& b = e.builder;
  const bool integers = is_integer(spec.x);
  return each_line(e, line, [&](Value, Value first, Value stride) {
    TypedAttr zero = b.getF64FloatAttr(0);
    if (integers) zero = b.getIntegerAttr(b.getIntegerType(spec.x.dtype == DType::int64 ? 64 : 32), 0);
    Value none = b.create<arith::ConstantOp>(e.loc, zero), n = e.size(line.n);
    auto loop = b.create<scf::ForOp>(e.loc, e.constant(0), n, e.constant(1), ValueRange(none));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value i = loop.getInductionVar();
    if (spec.reverse) i = b.create<arith::SubIOp>(e.loc, b.create<arith::SubIOp>(e.loc, n, e.constant(1)), i);
    Value at = e.add(first, e.multiply(i, stride));
    Value element = e.load(x, at), before = loop.getRegionIterArg(0), sum;
    if (integers) {
      sum = b.create<arith::AddIOp>(e.loc, before, element);
      e.store(y, at, sum);
    } else {
      sum = b.create<arith::AddFOp>(e.loc, before, b.create<arith::ExtFOp>(e.loc, b.getF64Type(), element));
      e.store(y, at, b.create<arith::TruncFOp>(e.loc, b.getF32Type(), sum));
    }
    b.create<scf::YieldOp>(e.loc, sum);
  });
}

/// One element after another: float64 can't hold all integers.
static KernelUse place_of_integer(Emitter& e, const ArgExtremumSpec& spec, const Line& line, int x, int y) {
  OpBuilder& b = e.builder;
  return each_line(e, line, [&](Value item, Value first, Value stride) {
    Value zero = e.constant(0), n = e.size(line.n);
    auto loop = b.create<scf::ForOp>(e.loc, e.constant(1), n, e.constant(1), ValueRange{e.load(x, first), zero});
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToEnd(loop.getBody());
      Value i = loop.getInductionVar(), value = e.load(x, e.add(first, e.multiply(i, stride)));
      const auto beyond = spec.minimum ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sgt;
      Value found = b.create<arith::CmpIOp>(e.loc, beyond, value, loop.getRegionIterArg(0));
      Value most = b.create<arith::SelectOp>(e.loc, found, value, loop.getRegionIterArg(0));
      Value place = b.create<arith::SelectOp>(e.loc, found, i, loop.getRegionIterArg(1));
      b.create<scf::YieldOp>(e.loc, ValueRange{most, place});
    }
    e.store(y, item, b.create<arith::IndexCastOp>(e.loc, b.getI64Type(), loop.getResult(1)));
  });
}

/// The extremum, then the first position that has it: two reductions, since a search that remembers the position goes one
/// element at a time. Positions are negated in f64, which holds them all, so the first one is their maximum.
Result<KernelUse> build(Emitter& e, const ArgExtremumSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(DType::int64);
  e.start();
  OpBuilder& b = e.builder;
  if (is_integer(spec.x)) return place_of_integer(e, spec, line, x, y);
  auto compare = [&](arith::CmpFPredicate predicate, Value p, Value q) -> Value {
    return b.create<arith::CmpFOp>(e.loc, predicate, p, q, arith::FastMathFlags::none);
  };
  e.set_schedule(gpu_rows(line.n));
  return each_line(e, line, [&](Value item, Value first, Value stride) {
    auto element = [&](Value i) -> Value {
      Value value = e.load(x, e.add(first, e.multiply(i, stride)));
      return spec.minimum ? b.create<arith::NegFOp>(e.loc, value).getResult() : value;
    };
    Value zero = e.constant(0), n = e.size(line.n);
    Value most = e.reduce(Combine::maximum, zero, n, {b.getF32Type()}, [&](Value i) { return Emitter::Values{element(i)}; })[0];
    Value nan = compare(arith::CmpFPredicate::UNO, most, most);
    Value below = b.create<arith::ConstantOp>(e.loc, b.getF64FloatAttr(-std::numeric_limits<double>::infinity()));
    Value place = e.reduce(Combine::maximum, zero, n, {b.getF64Type()}, [&](Value i) {
      Value value = element(i);
      // NaN compares as the extremum.
      Value both = b.create<arith::AndIOp>(e.loc, nan, compare(arith::CmpFPredicate::UNO, value, value));
      Value here = b.create<arith::OrIOp>(e.loc, compare(arith::CmpFPredicate::OEQ, value, most), both);
      Value index = b.create<arith::IndexCastOp>(e.loc, b.getI64Type(), i);
      Value down = b.create<arith::NegFOp>(e.loc, b.create<arith::SIToFPOp>(e.loc, b.getF64Type(), index));
      return Emitter::Values{b.create<arith::SelectOp>(e.loc, here, down, below)};
    })[0];
    e.store(y, item, b.create<arith::FPToSIOp>(e.loc, b.getI64Type(), b.create<arith::NegFOp>(e.loc, place)));
  });
}

Result<KernelUse> build(Emitter& e, const ResampleSpec& spec) {
  SHEAF_ASSIGN(auto line, line_of(spec.name, spec.x.shape, spec.dim));
  const auto count = static_cast<int64_t>(spec.starts.size());
  const int64_t taps = count ? static_cast<int64_t>(spec.weights.size()) / count : 0;
  auto rows = product(line.outer, Extent(count));
  if (!rows || taps < 1) return Error(spec.name + ": the number of rows is not linear");
  const int x = e.add_buffer(spec.x.dtype), y = e.add_buffer(spec.x.dtype);
  e.start();
  OpBuilder& b = e.builder;
  Value starts = e.table(spec.starts), weights = e.table(spec.weights);
  Value inner = e.size(line.inner), none = e.f32(0);
  Value unread =
      b.create<arith::ConstantOp>(e.loc, b.getI32IntegerAttr(std::numeric_limits<int32_t>::min()));  // the bits of -0
  // An element of y: row j of slab `outer`.
  auto element = [&](Value outer, Value j, Value i) {
    Value begin = b.create<arith::IndexCastOp>(e.loc, b.getIndexType(), e.read(starts, j));
    Value from = e.add(e.multiply(outer, e.size(line.n)), begin), sum;
    for (int64_t k = 0; k < taps; ++k) {
      Value weight = e.read(weights, e.add(e.multiply(j, e.constant(taps)), e.constant(k)));
      Value value = e.load(x, e.add(e.multiply(e.add(from, e.constant(k)), inner), i));
      Value term = b.create<arith::MulFOp>(e.loc, weight, value);
      Value bits = b.create<arith::BitcastOp>(e.loc, b.getI32Type(), weight);
      Value missing = b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::eq, bits, unread);
      term = b.create<arith::SelectOp>(e.loc, missing, none, term);
      sum = sum ? b.create<arith::AddFOp>(e.loc, sum, term) : term;
    }
    Value to = e.add(e.multiply(outer, e.constant(count)), j);
    e.store(y, e.add(e.multiply(to, inner), i), sum);
  };
  e.parallel(e.begin(), e.end(), [&](Value flat) {
    Emitter::Values at = e.decompose(flat, {{line.outer, {}}, {Extent(count), {}}}, 2);
    e.parallel(e.constant(0), inner, [&](Value i) { element(at[0], at[1], i); });
  });
  e.set_schedule(gpu_rows(line.inner));
  KernelUse use;
  use.work = *rows;
  use.grain = grain_for(2 * taps * typical_size(line.inner));
  return use;
}

}  // namespace sheaf::kernels
