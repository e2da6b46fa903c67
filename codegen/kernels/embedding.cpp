#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

Result<KernelUse> build(Emitter& e, const EmbeddingSpec& spec) {
  if (spec.index != DType::int64 && spec.index != DType::int32) return Error(spec.name + ": indices must be int64 or int32");
  if (spec.entries < 1 || spec.width < 0) return Error(spec.name + ": the table has no entries");
  auto count = product(spec.index_shape, 0, spec.index_shape.size());
  if (!count) return Error(spec.name + ": the number of indices is not linear");

  int index = e.add_buffer(spec.index), weight = e.add_buffer(spec.weight);
  int y = e.add_buffer(spec.weight), status = e.add_buffer(DType::int64);
  e.start();
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  e.parallel(e.begin(), e.end(), [&](Value position) {
    Value wide = e.load(index, position);
    if (spec.index == DType::int32) wide = b.create<arith::ExtSIOp>(loc, b.getI64Type(), wide);
    Value entries = b.create<arith::ConstantIntOp>(loc, spec.entries, 64);
    // Read as unsigned, a negative index is very large.
    Value bad = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, wide, entries);
    auto check = b.create<scf::IfOp>(loc, bad, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(check.thenBlock()->getTerminator());
      Value at = b.create<arith::IndexCastOp>(loc, b.getI64Type(), position);
      Value inverted = b.create<arith::XOrIOp>(loc, at, b.create<arith::ConstantIntOp>(loc, -1, 64));
      // The unsigned maximum of ~p belongs to the smallest p, whichever thread comes first; 0 is below all others.
      b.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::maxu, inverted, e.buffer(status), ValueRange(e.constant(0)));
    }
    Value safe = b.create<arith::SelectOp>(loc, bad, b.create<arith::ConstantIntOp>(loc, 0, 64), wide);
    Value from = e.multiply(b.create<arith::IndexCastOp>(loc, b.getIndexType(), safe), e.constant(spec.width));
    Value to = e.multiply(position, e.constant(spec.width));
    e.parallel(e.constant(0), e.constant(spec.width),
               [&](Value i) { e.store(y, e.add(to, i), e.load(weight, e.add(from, i))); });
  });
  e.set_schedule(gpu_rows(spec.width));
  KernelUse use;
  use.work = *count;
  use.grain = grain_for(spec.width + 8);
  return use;
}

}  // namespace sheaf::kernels
