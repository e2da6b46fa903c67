#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// Takes the entries of the table in turn: searches all positions for the entry's hits side by side, and adds them up in their
/// order. For a GPU, which has too many threads to give each a column.
void by_entries(Emitter& e, const EmbeddingBackwardSpec& spec, Value count) {
  constexpr int64_t word = 32, stretch = 1024;  // most have no hit
  constexpr int index = 0, dy = 1, dweight = 2;
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  auto i32 = [&](int64_t value) -> Value { return b.create<arith::ConstantIntOp>(loc, value, 32); };
  auto least = [&](Value p, Value q) -> Value { return b.create<arith::MinUIOp>(loc, p, q); };
  Value zero = e.constant(0), width = e.constant(spec.width);
  auto hits = [&](Value entry, Value low, Value high, llvm::function_ref<Value(Value)> bit) {
    return e.reduce(Combine::bits, low, high, {b.getI32Type()}, [&](Value position) {
      Value found = e.load(index, position);
      Value wanted = b.create<arith::IndexCastOp>(loc, found.getType(), entry);
      Value hit = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, found, wanted);
      return Emitter::Values{b.create<arith::SelectOp>(loc, hit, bit(position), i32(0))};
    })[0];
  };
  auto add_hits = [&](Value entry, Value row, Value low, Value high) {
    Value mask = hits(entry, low, high, [&](Value position) -> Value {
      Value place = b.create<arith::IndexCastOp>(loc, b.getI32Type(), b.create<arith::SubIOp>(loc, position, low));
      return b.create<arith::ShLIOp>(loc, i32(1), place);
    });
    Value some = b.create<arith::IndexCastOp>(loc, b.getIndexType(), b.create<math::CtPopOp>(loc, mask));
    auto loop = b.create<scf::ForOp>(loc, zero, some, e.constant(1), ValueRange(mask));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value rest = loop.getRegionIterArg(0);
    Value place = b.create<arith::IndexCastOp>(loc, b.getIndexType(), b.create<math::CountTrailingZerosOp>(loc, rest));
    Value from = e.multiply(e.add(low, place), width);
    e.parallel(zero, width, [&](Value j) {
      Value at = e.add(row, j);
      e.store(dweight, at, b.create<arith::AddFOp>(loc, e.load(dweight, at), e.load(dy, e.add(from, j))));
    });
    Value fewer = b.create<arith::AndIOp>(loc, rest, b.create<arith::SubIOp>(loc, rest, i32(1)));
    b.create<scf::YieldOp>(loc, fewer);
  };
  e.parallel(e.begin(), e.end(), [&](Value entry) {
    Value row = e.multiply(entry, width);
    e.parallel(zero, width, [&](Value j) { e.store(dweight, e.add(row, j), e.f32(0)); });
    Value end = count;
    if (spec.padding_idx) {
      Value padding = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, entry, e.constant(*spec.padding_idx));
      end = b.create<arith::SelectOp>(loc, padding, zero, count);
    }
    e.sequential(zero, end, stretch, [&](Value first) {
      Value last = least(e.add(first, e.constant(stretch)), end);
      Value any = hits(entry, first, last, [&](Value) { return i32(1); });
      auto check = b.create<scf::IfOp>(loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, any, i32(0)),
                                       /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(check.thenBlock()->getTerminator());
      e.sequential(first, last, word, [&](Value low) { add_hits(entry, row, low, least(e.add(low, e.constant(word)), last)); });
    });
  });
  e.set_schedule({.block = 128, .lanes = 32});
}

}  // namespace

Result<KernelUse> build(Emitter& e, const EmbeddingBackwardSpec& spec) {
  if (spec.index != DType::int64 && spec.index != DType::int32) return Error(spec.name + ": indices must be int64 or int32");
  if (spec.entries < 1 || spec.width < 0) return Error(spec.name + ": the table has no entries");
  auto count = product(spec.index_shape, 0, spec.index_shape.size());
  if (!count) return Error(spec.name + ": the number of indices is not linear");

  int index = e.add_buffer(spec.index), dy = e.add_buffer(DType::float32);
  int dweight = e.add_buffer(DType::float32);
  e.start();
  KernelUse use;
  if (e.for_gpu()) {
    by_entries(e, spec, e.size(*count));
    use.work = spec.entries;
    return use;
  }
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  Value zero = e.constant(0), width = e.constant(spec.width), none = e.f32(0);
  e.sequential(zero, e.constant(spec.entries), 1, [&](Value entry) {
    Value row = e.multiply(entry, width);
    e.parallel(e.begin(), e.end(), [&](Value j) { e.store(dweight, e.add(row, j), none); });
  });
  // Each thread goes through all positions for columns of its own, so the order of sums doesn't depend on the number of
  // threads.
  e.sequential(zero, e.size(*count), 1, [&](Value position) {
    Value entry = e.load(index, position);
    if (spec.index == DType::int32) entry = b.create<arith::ExtSIOp>(loc, b.getI64Type(), entry);
    Value entries = b.create<arith::ConstantIntOp>(loc, spec.entries, 64);
    // Read as unsigned, a negative index is very large.
    Value counts = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, entry, entries);
    if (spec.padding_idx) {
      Value padding = b.create<arith::ConstantIntOp>(loc, *spec.padding_idx, 64);
      Value other = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, entry, padding);
      counts = b.create<arith::AndIOp>(loc, counts, other);
    }
    auto check = b.create<scf::IfOp>(loc, counts, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(check.thenBlock()->getTerminator());
    Value row = e.multiply(b.create<arith::IndexCastOp>(loc, b.getIndexType(), entry), width);
    Value from = e.multiply(position, width);
    e.parallel(e.begin(), e.end(), [&](Value j) {
      Value at = e.add(row, j);
      Value sum = b.create<arith::AddFOp>(loc, e.load(dweight, at), e.load(dy, e.add(from, j)));
      e.store(dweight, at, sum);
    });
  });
  use.work = spec.width;
  // At least as many columns as fit into a cache line.
  use.grain = std::max<int64_t>(16, grain_for(2 * typical_size(*count) + spec.entries));
  return use;
}

}  // namespace sheaf::kernels
