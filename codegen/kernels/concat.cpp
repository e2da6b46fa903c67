#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;

Result<KernelUse> build(Emitter& e, const ConcatSpec& spec) {
  if (spec.inputs.empty()) return Error(spec.name + ": nothing to concatenate");
  const Shape& first = spec.inputs[0];
  SHEAF_ASSIGN(auto dim, checked_dim(spec.name, spec.dim, first.size()));
  size_t d = static_cast<size_t>(dim);
  auto outer = product(first, 0, d);
  if (!outer) return Error(spec.name + ": sizes before the dimension have no linear product");
  std::vector<Extent> lengths;  // lengths of each input's part of a row
  for (const Shape& shape : spec.inputs) {
    bool fits = shape.size() == first.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = i == d || shape[i] == first[i];
    if (!fits) return Error(spec.name + ": the inputs' shapes differ in more than dimension " + std::to_string(dim));
    auto length = product(shape, d, shape.size());
    if (!length) return Error(spec.name + ": sizes from the dimension on have no linear product");
    lengths.push_back(*length);
  }

  int output = 0;
  for (size_t i = 0; i <= spec.inputs.size(); ++i) output = e.add_buffer(spec.dtype);
  e.start();
  Value total = e.constant(0);
  for (const Extent& length : lengths) total = e.add(total, e.size(length));
  KernelUse use;
  // A single row is cut into parts, so that there is work to share out.
  bool single = *outer == Extent(1);
  const int64_t parts = !single ? 1 : e.for_gpu() ? 512 : 64;
  e.parallel(e.begin(), e.end(), [&](Value work) {
    Value start = single ? e.constant(0) : e.multiply(work, total);
    for (size_t i = 0; i < lengths.size(); ++i) {
      Value length = e.size(lengths[i]);
      Value low = e.constant(0), high = length, base = low;
      if (single) {
        auto cut = [&](Value part) -> Value {
          return e.builder.create<arith::DivUIOp>(e.loc, e.multiply(length, part), e.constant(parts));
        };
        low = cut(work);
        high = cut(e.add(work, e.constant(1)));
      } else {
        base = e.multiply(work, length);
      }
      e.parallel(low, high, [&](Value j) {
        e.write(e.buffer(output), e.add(start, j), e.read(e.buffer(static_cast<int>(i)), e.add(base, j)));
      });
      start = e.add(start, length);
    }
  });
  int64_t row = 0;
  for (const Extent& length : lengths) row += typical_size(length);
  e.set_schedule(gpu_rows(row / parts / static_cast<int64_t>(lengths.size()) + 1));
  use.work = single ? Extent(parts) : *outer;
  use.grain = grain_for(single ? row / parts + 1 : row);
  return use;
}

}  // namespace sheaf::kernels
