#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

Result<KernelUse> build(Emitter& e, const EmbeddingBackwardSpec& spec) {
  if (spec.index != DType::int64 && spec.index != DType::int32)
    return Error(spec.name + ": indices must be int64 or int32");
  if (spec.entries < 1 || spec.width < 0) return Error(spec.name + ": the table has no entries");
  auto count = product(spec.index_shape, 0, spec.index_shape.size());
  if (!count) return Error(spec.name + ": the number of indices is not linear");

  int index = e.add_buffer(spec.index), dy = e.add_buffer(DType::float32);
  int dweight = e.add_buffer(DType::float32);
  e.start();
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  Value zero = e.constant(0), width = e.constant(spec.width), none = e.f32(0);
  e.sequential(zero, e.constant(spec.entries), 1, [&](Value entry) {
    Value row = e.multiply(entry, width);
    e.parallel(e.begin(), e.end(), [&](Value j) { e.store(dweight, e.add(row, j), none); });
  });
  // Each thread goes through all positions for columns of its own: the same order of sums whatever their number.
  e.sequential(zero, e.size(*count), 1, [&](Value position) {
    Value entry = e.load(index, position);
    if (spec.index == DType::int32) entry = b.create<arith::ExtSIOp>(loc, b.getI64Type(), entry);
    Value entries = b.create<arith::ConstantIntOp>(loc, spec.entries, 64);
    // Unsigned, a negative index is a very large one.
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
  KernelUse use;
  use.work = spec.width;
  // No fewer columns than a cache line holds.
  use.grain = std::max<int64_t>(16, grain_for(2 * typical_size(*count) + spec.entries));
  return use;
}

}  // namespace sheaf::kernels
