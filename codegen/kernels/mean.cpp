#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;

Result<KernelUse> build(Emitter& e, const MeanSpec& spec) {
  const Shape& shape = spec.x.shape;
  auto dim = checked_dim(spec.name, spec.dim, shape.size());
  if (!dim) return dim.error();
  size_t first = static_cast<size_t>(*dim), last = first + static_cast<size_t>(spec.dims);
  if (spec.dims < 1 || last > shape.size())
    return Error(spec.name + ": the dimensions reach beyond the tensor's");
  auto outer = product(shape, 0, first), n = product(shape, first, last),
       inner = product(shape, last, shape.size());
  if (!outer || !n || !inner)
    return Error(spec.name + ": sizes beside or among the dimensions have no linear product");
  Shape result(shape.begin(), shape.begin() + first);
  result.insert(result.end(), shape.begin() + last, shape.end());
  // Kept dimensions of size 1 are as good: the elements are the same.
  Shape kept = shape;
  for (size_t i = first; i < last; ++i) kept[i] = 1;
  if (auto ok = check_same_shape(spec.name, spec.prologue, shape); !ok) return ok.error();
  if (!check_same_shape(spec.name, spec.epilogue, kept))
    if (auto ok = check_same_shape(spec.name, spec.epilogue, result); !ok) return ok.error();

  FusedBody prologue(e, spec.prologue), epilogue(e, spec.epilogue);
  int x = e.add_buffer(spec.x.dtype);
  prologue.add_buffers();
  epilogue.add_buffers();
  int y = e.add_buffer(spec.output);
  e.start();
  auto load = [&](Value offset) { return prologue.apply(e.load(x, offset), [&](size_t) { return offset; }); };
  auto store = [&](Value offset, Value value) {
    e.store(y, offset, epilogue.apply(value, [&](size_t) { return offset; }));
  };

  KernelUse use;
  use.work = *outer;
  if (*inner == Extent(1)) {
    e.parallel(e.begin(), e.end(), [&](Value row) {
      Value base = e.multiply(row, e.size(*n));
      Value sum = e.accurate_sums(*n, 1, [&](Value i) { return Emitter::Values{load(e.add(base, i))}; })[0];
      store(row, e.builder.create<arith::DivFOp>(e.loc, sum, e.to_f32(e.size(*n))));
    });
  } else {
    // Tiles of neighbouring columns, vectorised along inner, with sums in f64.
    constexpr int64_t tile = 64;
    Type f64 = e.builder.getF64Type();
    Value sums = e.scratch(tile, f64);
    e.parallel(e.begin(), e.end(), [&](Value row) {
      Value zero = e.constant(0), width_all = e.size(*inner), rows = e.size(*n);
      Value base = e.multiply(row, e.multiply(rows, width_all));
      Value count = e.builder.create<arith::UIToFPOp>(
          e.loc, f64, e.builder.create<arith::IndexCastOp>(e.loc, e.builder.getI64Type(), rows));
      e.sequential(zero, width_all, tile, [&](Value start) {
        Value width = e.builder.create<arith::MinUIOp>(
            e.loc, e.constant(tile), e.builder.create<arith::SubIOp>(e.loc, width_all, start));
        Value none = e.builder.create<arith::ConstantOp>(e.loc, e.builder.getF64FloatAttr(0));
        e.parallel(zero, width, [&](Value j) { e.write(sums, j, none); });
        e.sequential(zero, rows, 1, [&](Value i) {
          Value line = e.add(base, e.add(e.multiply(i, width_all), start));
          e.parallel(zero, width, [&](Value j) {
            Value value = e.builder.create<arith::ExtFOp>(e.loc, f64, load(e.add(line, j)));
            e.write(sums, j, e.builder.create<arith::AddFOp>(e.loc, e.read(sums, j), value));
          });
        });
        Value line = e.add(e.multiply(row, width_all), start);
        e.parallel(zero, width, [&](Value j) {
          Value mean = e.builder.create<arith::DivFOp>(e.loc, e.read(sums, j), count);
          store(e.add(line, j), e.builder.create<arith::TruncFOp>(e.loc, e.builder.getF32Type(), mean));
        });
      });
    });
  }
  use.grain = grain_for(typical_size(*n) * typical_size(*inner) * e.cost());
  return use;
}

}  // namespace sheaf::kernels
