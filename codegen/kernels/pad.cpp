#include "codegen/kernels/builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace sheaf::kernels {

using namespace mlir;

namespace {

/// An element of `dtype` as an integer of the same width.
llvm::APInt bits_of(double value, DType dtype) {
  const llvm::fltSemantics* format = dtype == DType::float32    ? &llvm::APFloat::IEEEsingle()
                                     : dtype == DType::float16  ? &llvm::APFloat::IEEEhalf()
                                     : dtype == DType::bfloat16 ? &llvm::APFloat::BFloat()
                                                                : nullptr;
  if (!format)
    return llvm::APInt(static_cast<unsigned>(8 * size_of(dtype)), static_cast<uint64_t>(static_cast<int64_t>(value)));
  llvm::APFloat number(value);
  bool inexact = false;
  number.convert(*format, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return number.bitcastToAPInt();
}

}  // namespace

Result<KernelUse> build(Emitter& e, const PadSpec& spec) {
  SHEAF_ASSIGN(auto dim, checked_dim(spec.name, spec.dim, spec.shape.size()));
  size_t d = static_cast<size_t>(dim);
  // Everything in elements of one slab, the data at one index of the dimensions before `dim`.
  auto outer = product(spec.shape, 0, d), inner = product(spec.shape, d + 1, spec.shape.size());
  auto part = [&](const Extent& size) { return inner ? product(size, *inner) : std::nullopt; };
  auto slab = part(spec.shape[d]), size = part(spec.size), first = part(spec.begin);
  if (!outer || !slab || !size || !first) return Error(spec.name + ": sizes around the dimension have no linear product");

  int x = e.add_buffer(dtype_of_width(spec.dtype)), y = e.add_buffer(dtype_of_width(spec.dtype));
  e.start();
  OpBuilder& b = e.builder;
  Location loc = e.loc;
  auto least = [&](Value p, Value q) -> Value { return b.create<arith::MinUIOp>(loc, p, q); };
  auto most = [&](Value p, Value q) -> Value { return b.create<arith::MaxUIOp>(loc, p, q); };
  Type element = cast<MemRefType>(e.buffer(y).getType()).getElementType();
  Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(element, bits_of(spec.value, spec.dtype)));
  Value low = e.size(*first), high = e.add(low, e.size(*size));
  // [begin, end) of slab `index`.
  auto fill = [&](Value index, Value begin, Value end) {
    Value to = e.multiply(index, e.size(*slab)), from = e.multiply(index, e.size(*size));
    e.parallel(begin, least(end, low), [&](Value i) { e.write(e.buffer(y), e.add(to, i), zero); });
    e.parallel(most(begin, low), least(end, high), [&](Value i) {
      Value position = e.add(from, b.create<arith::SubIOp>(loc, i, low));
      e.write(e.buffer(y), e.add(to, i), e.read(e.buffer(x), position));
    });
    e.parallel(most(begin, high), end, [&](Value i) { e.write(e.buffer(y), e.add(to, i), zero); });
  };
  // An element of y, on a GPU.
  auto select = [&](Value index, Value i) {
    Value from = e.multiply(index, e.size(*size));
    Value inside = b.create<arith::AndIOp>(loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, i, low),
                                           b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, i, high));
    auto read = [&](OpBuilder&, Location) {
      Value position = e.add(from, b.create<arith::SubIOp>(loc, i, low));
      b.create<scf::YieldOp>(loc, e.read(e.buffer(x), position));
    };
    auto value = b.create<scf::IfOp>(loc, inside, read, [&](OpBuilder&, Location) { b.create<scf::YieldOp>(loc, zero); });
    e.write(e.buffer(y), e.add(e.multiply(index, e.size(*slab)), i), value.getResult(0));
  };
  KernelUse use;
  const auto elements = product(*outer, *slab);
  if (e.for_gpu() && elements) {
    use.work = *elements;
    e.parallel(e.begin(), e.end(), [&](Value flat) {
      if (*outer == Extent(1)) return select(e.constant(0), flat);
      Value length = e.size(*slab);
      select(b.create<arith::DivUIOp>(loc, flat, length), b.create<arith::RemUIOp>(loc, flat, length));
    });
    return use;
  }
  e.set_schedule(gpu_rows(*slab));
  if (*outer == Extent(1)) {
    use.work = *slab;
    fill(e.constant(0), e.begin(), e.end());
    use.grain = grain_for(1);
  } else {
    use.work = *outer;
    e.parallel(e.begin(), e.end(), [&](Value index) { fill(index, e.constant(0), e.size(*slab)); });
    use.grain = grain_for(typical_size(*slab));
  }
  return use;
}

}  // namespace sheaf::kernels
