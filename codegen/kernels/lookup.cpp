#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// The part that both directions share: x as [outer, entries, inner], the index's entries as [outer, count, inner] or, if the
/// same for all, [count].
class Lookup {
 public:
  Lookup(Emitter& e, const LookupSpec& spec) : e_(e), spec_(spec) {}
  Result<KernelUse> forward();
  Result<KernelUse> backward();

 private:
  Result<void> check() {
    if (spec_.index != DType::int64 && spec_.index != DType::int32)
      return Error(spec_.name + ": indices must be int64 or int32");
    if (spec_.entries < 1) return Error(spec_.name + ": there are no entries to look up");
    return {};
  }
  /// The position in the index's buffer of the number for (outer, position, inner).
  Value place(Value outer, Value position, Value inner) {
    if (!spec_.elementwise) return position;
    return e_.add(e_.multiply(row(outer, position), e_.size(spec_.inner)), inner);
  }
  Value row(Value outer, Value position) { return e_.add(e_.multiply(outer, e_.size(spec_.count)), position); }
  Value number(Value place) {
    Value wide = e_.load(0, place);
    return spec_.index == DType::int32 ? e_.builder.create<arith::ExtSIOp>(e_.loc, e_.builder.getI64Type(), wide) : wide;
  }
  /// Read as unsigned, a negative index is very large.
  Value is_bad(Value number) {
    Value entries = e_.builder.create<arith::ConstantIntOp>(e_.loc, spec_.entries, 64);
    return e_.builder.create<arith::CmpIOp>(e_.loc, arith::CmpIPredicate::uge, number, entries);
  }
  /// What the index at (outer, position, inner) looks up in `x`: 0 if it is `ignored`, NaN if there is no such entry.
  Value value_or_nan(int x, Value outer, Value position, Value inner) {
    OpBuilder& b = e_.builder;
    Value wide = number(place(outer, position, inner)), bad = is_bad(wide);
    Value found = e_.read(e_.buffer(x), in_table(outer, safe_entry(wide, bad), inner));
    Value valid = b.create<arith::SelectOp>(e_.loc, bad, e_.f32(std::numeric_limits<float>::quiet_NaN()), found);
    Value ignored = b.create<arith::CmpIOp>(e_.loc, arith::CmpIPredicate::eq, wide,
                                            b.create<arith::ConstantIntOp>(e_.loc, *spec_.ignored, 64));
    return b.create<arith::SelectOp>(e_.loc, ignored, e_.f32(0), valid);
  }
  /// The entry at `place`; 0, with a report in `status`, if there is no such entry.
  Value entry(Value place, int status) {
    OpBuilder& b = e_.builder;
    Value wide = number(place), bad = is_bad(wide);
    auto check = b.create<scf::IfOp>(e_.loc, bad, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(check.thenBlock()->getTerminator());
      Value at = b.create<arith::IndexCastOp>(e_.loc, b.getI64Type(), place);
      Value inverted = b.create<arith::XOrIOp>(e_.loc, at, b.create<arith::ConstantIntOp>(e_.loc, -1, 64));
      // The unsigned maximum of ~p belongs to the smallest p, whichever thread comes first; 0 is below all others.
      b.create<memref::AtomicRMWOp>(e_.loc, arith::AtomicRMWKind::maxu, inverted, e_.buffer(status),
                                    ValueRange(e_.constant(0)));
    }
    return safe_entry(wide, bad);
  }
  Value safe_entry(Value wide, Value bad) {
    OpBuilder& b = e_.builder;
    Value safe = b.create<arith::SelectOp>(e_.loc, bad, b.create<arith::ConstantIntOp>(e_.loc, 0, 64), wide);
    return b.create<arith::IndexCastOp>(e_.loc, b.getIndexType(), safe);
  }
  Value in_table(Value outer, Value entry, Value inner) {
    Value slab = e_.add(e_.multiply(outer, e_.constant(spec_.entries)), entry);
    return e_.add(e_.multiply(slab, e_.size(spec_.inner)), inner);
  }

  Emitter& e_;
  const LookupSpec& spec_;
};

Result<KernelUse> Lookup::forward() {
  SHEAF_TRY(check());
  auto rows = product(spec_.outer, spec_.count);
  if (!rows) return Error(spec_.name + ": the number of lookups is not linear");
  e_.add_buffer(spec_.index);
  const DType entries = spec_.ignored ? DType::float32 : dtype_of_width(spec_.dtype);
  const int x = e_.add_buffer(entries), y = e_.add_buffer(entries);
  const int status = spec_.ignored ? -1 : e_.add_buffer(DType::int64);
  e_.start();
  e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
    Emitter::Values at = e_.decompose(flat, {{spec_.outer, {}}, {spec_.count, {}}}, 2);
    Value to = e_.multiply(flat, e_.size(spec_.inner)), zero = e_.constant(0);
    Value shared = spec_.elementwise ? Value() : entry(place(at[0], at[1], zero), status);
    e_.parallel(zero, e_.size(spec_.inner), [&](Value i) {
      const auto found = [&] { return shared ? shared : entry(place(at[0], at[1], i), status); };
      e_.write(e_.buffer(y), e_.add(to, i),
               spec_.ignored ? value_or_nan(x, at[0], at[1], i) : e_.read(e_.buffer(x), in_table(at[0], found(), i)));
    });
  });
  e_.set_schedule(gpu_rows(spec_.inner));
  KernelUse use;
  use.work = *rows;
  use.grain = grain_for(typical_size(spec_.inner) + 8);
  return use;
}

Result<KernelUse> Lookup::backward() {
  SHEAF_TRY(check());
  constexpr int dy = 1, dx = 2;
  e_.add_buffer(spec_.index);
  e_.add_buffer(DType::float32);
  e_.add_buffer(DType::float32);
  e_.start();
  OpBuilder& b = e_.builder;
  Value zero = e_.constant(0), none = e_.f32(0);
  // All entries of one `outer`, for the inner positions that `each` iterates over, in the order of the index.
  auto add_up = [&](Value outer, llvm::function_ref<void(llvm::function_ref<void(Value)>)> each) {
    e_.sequential(zero, e_.constant(spec_.entries), 1,
                  [&](Value entry) { each([&](Value i) { e_.store(dx, in_table(outer, entry, i), none); }); });
    e_.sequential(zero, e_.size(spec_.count), 1, [&](Value position) {
      each([&](Value i) {
        Value wide = number(place(outer, position, i));
        Value good = b.create<arith::XOrIOp>(e_.loc, is_bad(wide), b.create<arith::ConstantIntOp>(e_.loc, 1, 1));
        auto check = b.create<scf::IfOp>(e_.loc, good, /*withElseRegion=*/false);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(check.thenBlock()->getTerminator());
        Value at = in_table(outer, b.create<arith::IndexCastOp>(e_.loc, b.getIndexType(), wide), i);
        Value from = e_.add(e_.multiply(row(outer, position), e_.size(spec_.inner)), i);
        e_.store(dx, at, b.create<arith::AddFOp>(e_.loc, e_.load(dx, at), e_.load(dy, from)));
      });
    });
  };
  KernelUse use;
  // Each column of a slab belongs to one thread, so the order of sums doesn't depend on the number of threads.
  if (auto columns = product(spec_.outer, spec_.inner); columns && e_.for_gpu()) {
    use.work = *columns;
    e_.parallel(e_.begin(), e_.end(), [&](Value flat) {
      Emitter::Values at = e_.decompose(flat, {{spec_.outer, {}}, {spec_.inner, {}}}, 2);
      add_up(at[0], [&](llvm::function_ref<void(Value)> body) { body(at[1]); });
    });
    return use;
  }
  use.work = spec_.outer;
  e_.parallel(e_.begin(), e_.end(), [&](Value outer) {
    add_up(outer, [&](llvm::function_ref<void(Value)> body) { e_.parallel(zero, e_.size(spec_.inner), body); });
  });
  use.grain = grain_for((spec_.entries + 2 * typical_size(spec_.count)) * typical_size(spec_.inner));
  return use;
}

}  // namespace

Result<KernelUse> build(Emitter& emitter, const LookupSpec& spec) {
  Lookup lookup(emitter, spec);
  return spec.backward ? lookup.backward() : lookup.forward();
}

}  // namespace sheaf::kernels
