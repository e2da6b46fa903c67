#include "codegen/kernels/builders.h"
#include "codegen/kernels/gpu_words.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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

/// The GPU form. An item of the range is an element of y, or as many neighbours as fill an access, if sizes allow: all data or all border.
struct PadItems {
  Emitter& e;
  int x, y;
  const PadSpec& spec;
  const Extent &slab, &size, &first;  ///< of y and x at one index of the dimensions before; where x begins in y
  bool by_vectors = false;

  /// Gives the range.
  Extent build(const Extent& outer, const Extent& elements) {
    const auto width = static_cast<int64_t>(VectorAccess::bytes / size_of(spec.dtype));
    const auto vectors = elements.divided_by(width), length = slab.divided_by(width);
    by_vectors = vectors && length && size.divided_by(width) && first.divided_by(width);
    const Extent& along = by_vectors ? *length : slab;
    e.builder.getContext()->getOrLoadDialect<LLVM::LLVMDialect>();
    e.parallel(e.begin(), e.end(), [&](Value flat) {
      Value index = e.constant(0), i = flat;
      if (!(outer == Extent(1))) {
        index = e.builder.create<arith::DivUIOp>(e.loc, flat, e.size(along));
        i = e.builder.create<arith::RemUIOp>(e.loc, flat, e.size(along));
      }
      copy(index, by_vectors ? e.multiply(i, e.constant(width)) : i, width);
    });
    return by_vectors ? *vectors : elements;
  }

  /// To element i of y's slab `index`, or to the `width` from it on.
  void copy(Value index, Value i, int64_t width) {
    OpBuilder& b = e.builder;
    VectorAccess access(b, e.loc);
    Type element = cast<MemRefType>(e.buffer(y).getType()).getElementType();
    Value low = e.size(first), high = e.add(low, e.size(size));
    Value from = e.multiply(index, e.size(size)), to = e.add(e.multiply(index, e.size(slab)), i);
    Value inside = b.create<arith::AndIOp>(e.loc, b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::uge, i, low),
                                           b.create<arith::CmpIOp>(e.loc, arith::CmpIPredicate::ult, i, high));
    auto data = [&](OpBuilder&, Location) {
      Value at = e.add(from, b.create<arith::SubIOp>(e.loc, i, low));
      b.create<scf::YieldOp>(e.loc, by_vectors ? access.load(e.buffer(x), at, element, width) : Words{e.read(e.buffer(x), at)});
    };
    auto border = [&](OpBuilder&, Location) {
      const llvm::APInt bits = bits_of(spec.value, spec.dtype);
      if (by_vectors) b.create<scf::YieldOp>(e.loc, access.words_of(bits, width));
      else b.create<scf::YieldOp>(e.loc, b.create<arith::ConstantOp>(e.loc, b.getIntegerAttr(element, bits)).getResult());
    };
    auto values = b.create<scf::IfOp>(e.loc, inside, data, border);
    if (by_vectors) access.store(e.buffer(y), to, element, Words(values.getResults()));
    else e.write(e.buffer(y), to, values.getResult(0));
  }
};

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
  KernelUse use;
  if (e.for_gpu())
    if (auto work = product(*outer, *slab)) {
      use.work = PadItems{e, x, y, spec, *slab, *size, *first, false}.build(*outer, *work);
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
