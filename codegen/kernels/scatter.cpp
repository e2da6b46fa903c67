#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

/// A column of a slab belongs to one thread, so the result doesn't depend on the number of threads.
Result<KernelUse> build(Emitter& e, const ScatterSpec& spec) {
  if (spec.index != DType::int64 && spec.index != DType::int32) return Error(spec.name + ": indices must be int64 or int32");
  auto columns = product(spec.outer, spec.inner);
  if (!columns) return Error(spec.name + ": the number of columns is not linear");
  const DType dtype = spec.add || spec.value ? spec.dtype : dtype_of_width(spec.dtype);
  const int index = e.add_buffer(spec.index), x = e.add_buffer(dtype), source = spec.value ? -1 : e.add_buffer(dtype);
  const int y = e.add_buffer(dtype), status = e.add_buffer(DType::int64);
  e.start();
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  auto i64 = [&](int64_t value) -> Value { return b.create<arith::ConstantIntOp>(loc, value, 64); };
  e.parallel(e.begin(), e.end(), [&](Value flat) {
    Emitter::Values at = e.decompose(flat, {{spec.outer, {}}, {spec.inner, {}}}, 2);
    auto place = [&](Value count, Value row) {
      return e.add(e.multiply(e.add(e.multiply(at[0], count), row), e.size(spec.inner)), at[1]);
    };
    Value entries = e.constant(spec.entries), count = e.size(spec.count);
    e.sequential(e.constant(0), entries, 1,
                 [&](Value row) { e.write(e.buffer(y), place(entries, row), e.read(e.buffer(x), place(entries, row))); });
    e.sequential(e.constant(0), count, 1, [&](Value row) {
      Value from = place(count, row), wide = e.load(index, from);
      if (spec.index == DType::int32) wide = b.create<arith::ExtSIOp>(loc, b.getI64Type(), wide);
      // Read as unsigned, a negative index is very large.
      Value good = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, wide, i64(spec.entries));
      auto check = b.create<scf::IfOp>(loc, good, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(check.thenBlock()->getTerminator());
      Value to = place(entries, b.create<arith::IndexCastOp>(loc, b.getIndexType(), wide));
      if (!spec.add) {
        if (spec.value) e.store(y, to, e.f32(*spec.value));
        else e.write(e.buffer(y), to, e.read(e.buffer(source), from));
      } else {
        Value term = e.load(source, from), before = e.load(y, to);
        const bool integers = isa<IntegerType>(term.getType());
        e.store(y, to,
                integers ? b.create<arith::AddIOp>(loc, before, term).getResult()
                         : b.create<arith::AddFOp>(loc, before, term).getResult());
      }
      b.setInsertionPoint(check.elseBlock()->getTerminator());
      // As in lookup.cpp: the unsigned maximum of ~p belongs to the smallest p.
      Value inverted = b.create<arith::XOrIOp>(loc, b.create<arith::IndexCastOp>(loc, b.getI64Type(), from), i64(-1));
      b.create<memref::AtomicRMWOp>(loc, arith::AtomicRMWKind::maxu, inverted, e.buffer(status), ValueRange(e.constant(0)));
    });
  });
  KernelUse use;
  use.work = *columns;
  use.grain = grain_for(spec.entries + 4 * typical_size(spec.count));
  return use;
}

}  // namespace sheaf::kernels
