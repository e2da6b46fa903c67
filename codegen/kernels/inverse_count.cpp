#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;

Result<KernelUse> build(Emitter& e, const InverseCountSpec& spec) {
  int y = e.add_buffer(DType::float32);
  e.start();
  e.parallel(e.begin(), e.end(), [&](Value i) {
    // A single extent if possible, so that kernels for all sizes are the same.
    auto whole = product(spec.shape, 0, spec.shape.size());
    Value count = whole ? e.size(*whole) : e.constant(1);
    for (const Extent& extent : spec.shape)
      if (!whole) count = e.multiply(count, e.size(extent));
    e.store(y, i, e.builder.create<arith::DivFOp>(e.loc, e.f32(1), e.to_f32(count)));
  });
  e.set_schedule({.block = 32});
  KernelUse use;
  use.work = 1;
  return use;
}

}  // namespace sheaf::kernels
