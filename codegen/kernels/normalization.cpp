#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// A row, normalised on its own, is channels × spatial elements. With groups, channel k of row r is channel (r mod groups) ·
/// channels + k of the tensor; a layer norm has one channel and a weight for each element.
struct Rows {
  Extent work, channels = 1, spatial = 1;
};

Result<Rows> rows_of(const NormalizationSpec& spec) {
  const Shape& shape = spec.x.shape;
  std::optional<Extent> work, spatial;
  Rows rows;
  if (spec.groups > 0) {
    if (shape.size() < 2) return Error(spec.name + ": group norm needs a batch and a channel dimension");
    if (!shape[1].is_static() || shape[1].constant % spec.groups != 0)
      return Error(spec.name + ": " + to_string(shape[1]) + " channels do not divide into " + std::to_string(spec.groups) +
                   " groups");
    work = shape[0] * spec.groups;
    rows.channels = shape[1].constant / spec.groups;
    spatial = product(shape, 2, shape.size());
  } else {
    if (spec.normalized_dims < 1 || spec.normalized_dims > static_cast<int64_t>(shape.size()))
      return Error(spec.name + ": " + std::to_string(spec.normalized_dims) + " normalised dimensions of a rank-" +
                   std::to_string(shape.size()) + " tensor");
    size_t first = shape.size() - static_cast<size_t>(spec.normalized_dims);
    work = product(shape, 0, first);
    spatial = product(shape, first, shape.size());
  }
  if (!work || !spatial) return Error(spec.name + ": sizes have no linear product");
  rows.work = *work;
  rows.spatial = *spatial;
  return rows;
}

}  // namespace

Result<KernelUse> build(Emitter& e, const NormalizationSpec& spec) {
  SHEAF_ASSIGN(auto rows, rows_of(spec));
  auto count = product(rows.channels, rows.spatial);  // channels are static
  for (const Fusion* fusion : {&spec.prologue, &spec.epilogue}) SHEAF_TRY(check_same_shape(spec.name, *fusion, spec.x.shape));

  FusedBody prologue(e, spec.prologue), epilogue(e, spec.epilogue);
  int x = e.add_buffer(spec.x.dtype);
  int weight = spec.weight ? e.add_buffer(DType::float32) : -1;
  int bias = spec.bias ? e.add_buffer(DType::float32) : -1;
  prologue.add_buffers();
  epilogue.add_buffers();
  int y = e.add_buffer(spec.output);
  e.start();

  KernelUse use;
  if (size_of(spec.x.dtype) == size_of(spec.output)) {
    e.allow_in_place(x, y);
    use.in_place.emplace_back(0, 0);
  }
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  // Differences from the mean are taken directly: expanded, they would cancel.
  auto subtract = [&](Value p, Value q) -> Value { return b.create<arith::SubFOp>(loc, p, q, arith::FastMathFlags::contract); };
  auto multiply = [&](Value p, Value q) -> Value { return b.create<arith::MulFOp>(loc, p, q); };
  e.parallel(e.begin(), e.end(), [&](Value row) {
    Value base = e.multiply(row, e.size(*count)), zero = e.constant(0);
    auto load = [&](Value i) {
      Value offset = e.add(base, i);
      return prologue.apply(e.load(x, offset), [&](size_t) { return offset; });
    };
    Value n = e.to_f32(e.size(*count));
    // Two passes: a first mean, then the moments about it. This corrects the first mean's own rounding (visible in every
    // element if the mean is large beside the deviation), and the variance does not cancel.
    Value mean =
        b.create<arith::DivFOp>(loc, e.accurate_sums(*count, 1, [&](Value i) { return Emitter::Values{load(i)}; })[0], n);
    Emitter::Values sums = e.accurate_sums(*count, 2, [&](Value i) {
      Value difference = subtract(load(i), mean);
      return Emitter::Values{difference, multiply(difference, difference)};
    });
    Value correction = b.create<arith::DivFOp>(loc, sums[0], n);
    Value variance = subtract(b.create<arith::DivFOp>(loc, sums[1], n), multiply(correction, correction));
    Value shifted = b.create<arith::AddFOp>(loc, variance, e.f32(spec.eps));
    Value factor = b.create<arith::DivFOp>(loc, e.f32(1), b.create<math::SqrtOp>(loc, shifted));

    auto normalize = [&](Value i, Value affine) {
      Value offset = e.add(base, i);
      Value value = multiply(subtract(subtract(load(i), mean), correction), factor);
      if (weight >= 0) value = multiply(value, e.load(weight, affine));
      if (bias >= 0) value = b.create<arith::AddFOp>(loc, value, e.load(bias, affine));
      e.store(y, offset, epilogue.apply(value, [&](size_t) { return offset; }));
    };
    if (spec.groups == 0) {
      e.parallel(zero, e.size(*count), [&](Value i) { normalize(i, i); });
      return;
    }
    Value group = b.create<arith::RemUIOp>(loc, row, e.constant(spec.groups));
    Value first = e.multiply(group, e.size(rows.channels));
    if (e.for_gpu()) {
      e.parallel(zero, e.size(*count),
                 [&](Value i) { normalize(i, e.add(first, b.create<arith::DivUIOp>(loc, i, e.size(rows.spatial)))); });
    } else {
      e.parallel(zero, e.size(rows.channels), [&](Value k) {
        Value start = e.multiply(k, e.size(rows.spatial));
        e.parallel(zero, e.size(rows.spatial), [&](Value s) { normalize(e.add(start, s), e.add(first, k)); });
      });
    }
  });
  e.set_schedule(gpu_rows(*count));
  use.work = rows.work;
  use.grain = grain_for(3 * typical_size(*count) * e.cost());
  return use;
}

}  // namespace sheaf::kernels
