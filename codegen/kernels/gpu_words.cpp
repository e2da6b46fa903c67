#include "codegen/kernels/gpu_words.h"

#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace sheaf::kernels {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

namespace {

/// Words of 64 bits for elements of as many; else of 32.
int64_t word_bytes(Type element) { return element.getIntOrFloatBitWidth() == 64 ? 8 : 4; }

Type as_integer(OpBuilder& b, Type type) { return b.getIntegerType(type.getIntOrFloatBitWidth()); }

}  // namespace

Value VectorAccess::index(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }
Value VectorAccess::word(int64_t value) { return b_.create<arith::ConstantIntOp>(loc_, value, 32); }

/// `offset` bytes after a vector that begins at `element`.
Value VectorAccess::address(Value memref, Value element, int64_t element_bytes, int64_t offset) {
  Value at = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, memref);
  at = b_.create<arith::AddIOp>(loc_, at, b_.createOrFold<arith::MulIOp>(loc_, element, index(element_bytes)));
  if (offset > 0) at = b_.create<arith::AddIOp>(loc_, at, index(offset));
  Value bits = b_.create<arith::IndexCastUIOp>(loc_, b_.getI64Type(), at);
  return b_.create<LLVM::IntToPtrOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext(), global_space), bits);
}

Words VectorAccess::load(Value memref, Value element, Type type, int64_t width) {
  const int64_t size = type.getIntOrFloatBitWidth() / 8, whole = size * width, step = std::min(whole, bytes);
  const int64_t count = step / word_bytes(type);
  Type word_type = b_.getIntegerType(8 * word_bytes(type));
  Words words;
  for (int64_t offset = 0; offset < whole; offset += step) {
    Value from = address(memref, element, size, offset);
    Type part = count == 1 ? word_type : Type(VectorType::get({count}, word_type));
    Value loaded = b_.create<LLVM::LoadOp>(loc_, part, from, /*alignment=*/static_cast<unsigned>(step));
    for (int64_t i = 0; i < count; ++i)
      words.push_back(count == 1 ? loaded : b_.create<LLVM::ExtractElementOp>(loc_, loaded, word(i)).getResult());
  }
  return words;
}

Value VectorAccess::element_of(const Words& words, Type type, size_t element) {
  const int64_t bits = type.getIntOrFloatBitWidth(), each = 8 * word_bytes(type) / bits;
  const int64_t within = static_cast<int64_t>(element) % each;
  Value value = words[element / static_cast<size_t>(each)];
  if (each > 1) {
    if (within > 0) value = b_.create<arith::ShRUIOp>(loc_, value, word(bits * within));
    value = b_.create<arith::TruncIOp>(loc_, as_integer(b_, type), value);
  }
  return isa<FloatType>(type) ? b_.create<arith::BitcastOp>(loc_, type, value).getResult() : value;
}

Words VectorAccess::words_of(const llvm::APInt& bits, int64_t width) {
  const int64_t bytes_of_word = bits.getBitWidth() == 64 ? 8 : 4;
  const auto splat = llvm::APInt::getSplat(static_cast<unsigned>(8 * bytes_of_word), bits);
  Value word = b_.create<arith::ConstantOp>(loc_, b_.getIntegerAttr(b_.getIntegerType(splat.getBitWidth()), splat));
  return Words(static_cast<size_t>(width * bits.getBitWidth() / splat.getBitWidth()), word);
}

void VectorAccess::store_elements(Value memref, Value element, Type type, ArrayRef<Value> values) {
  const int64_t bits = type.getIntOrFloatBitWidth(), each = 8 * word_bytes(type) / bits;
  Words words;
  for (auto [i, given] : llvm::enumerate(values)) {
    Value value = isa<FloatType>(type) ? b_.create<arith::BitcastOp>(loc_, as_integer(b_, type), given).getResult() : given;
    if (each > 1) value = b_.create<arith::ExtUIOp>(loc_, b_.getI32Type(), value);
    const int64_t within = static_cast<int64_t>(i) % each;
    if (within == 0) {
      words.push_back(value);
    } else {
      value = b_.create<arith::ShLIOp>(loc_, value, word(bits * within));
      words.back() = b_.create<arith::OrIOp>(loc_, words.back(), value);
    }
  }
  store(memref, element, type, words);
}

void VectorAccess::store(Value memref, Value element, Type type, const Words& words) {
  const int64_t size = type.getIntOrFloatBitWidth() / 8, whole = word_bytes(type) * static_cast<int64_t>(words.size());
  const int64_t step = std::min(whole, bytes), count = step / word_bytes(type);
  for (int64_t offset = 0; offset < whole; offset += step) {
    Value to = address(memref, element, size, offset);
    const size_t first = static_cast<size_t>(offset / word_bytes(type));
    Value part = words[first];
    if (count > 1) {
      part = b_.create<LLVM::UndefOp>(loc_, VectorType::get({count}, words.front().getType()));
      for (int64_t i = 0; i < count; ++i)
        part = b_.create<LLVM::InsertElementOp>(loc_, part, words[first + static_cast<size_t>(i)], word(i));
    }
    b_.create<LLVM::StoreOp>(loc_, part, to, /*alignment=*/static_cast<unsigned>(step));
  }
}

}  // namespace sheaf::kernels
