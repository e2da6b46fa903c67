#include "codegen/kernels/gpu_vectors.h"
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sheaf::kernels {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

namespace {

constexpr int64_t access_bytes = 16;

/// Words of 64 bits for elements of as many; else of 32.
int64_t word_bytes(Type element) { return element.getIntOrFloatBitWidth() == 64 ? 8 : 4; }

Type as_integer(OpBuilder& b, Type type) { return b.getIntegerType(type.getIntOrFloatBitWidth()); }

}  // namespace

VectorBody::VectorBody(OpBuilder& builder, scf::ParallelOp loop, const Vectors& vectors, const IRMapping& map)
    : b_(builder), loc_(loop.getLoc()), loop_(loop), vectors_(vectors), outside_(map) {}

Value VectorBody::index(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }
Value VectorBody::word(int64_t value) { return b_.create<arith::ConstantIntOp>(loc_, value, 32); }

void VectorBody::clone(Operation& op, IRMapping& map) {
  if (!vectors_.divides(op)) {
    b_.clone(op, map);
    return;
  }
  Type i32 = b_.getI32Type();
  auto narrow = [&](Value value) -> Value { return b_.create<arith::IndexCastUIOp>(loc_, i32, map.lookupOrDefault(value)); };
  Value x = narrow(op.getOperand(0)), y = narrow(op.getOperand(1));
  Value result = isa<arith::DivUIOp>(op) ? b_.create<arith::DivUIOp>(loc_, x, y).getResult()
                                         : b_.create<arith::RemUIOp>(loc_, x, y).getResult();
  map.map(op.getResult(0), b_.create<arith::IndexCastUIOp>(loc_, b_.getIndexType(), result).getResult());
}

void VectorBody::read(Value base, Value inside) {
  Part& part = parts_.emplace_back();
  part.map = outside_;
  part.inside = inside;
  part.map.map(loop_.getInductionVars()[0], base);
  for (Operation& op : loop_.getBody()->without_terminator()) {
    if (isa<memref::StoreOp>(op)) continue;
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load && vectors_.whole(op))
      part.loaded[&op] =
          this->load(part.map.lookupOrDefault(load.getMemref()), part.map.lookup(load.getIndices()[0]), load.getType());
    else if (vectors_.place(op.getResult(0)) != Vectors::Place::any) clone(op, part.map);
  }
}

void VectorBody::compute(Part& part, int element) {
  IRMapping map = part.map;
  auto move = [&](Value value) {
    map.map(value, b_.createOrFold<arith::AddIOp>(loc_, part.map.lookup(value), index(element)));
  };
  if (element > 0) move(loop_.getInductionVars()[0]);
  for (Operation& op : loop_.getBody()->without_terminator()) {
    if (auto found = part.loaded.find(&op); found != part.loaded.end()) {
      map.map(op.getResult(0), element_of(found->second, op.getResult(0).getType(), element));
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      part.stored[&op].push_back(map.lookupOrDefault(store.getValueToStore()));
    } else if (vectors_.place(op.getResult(0)) == Vectors::Place::any) {
      clone(op, map);
    } else if (vectors_.place(op.getResult(0)) == Vectors::Place::next && element > 0) {
      move(op.getResult(0));
    }
  }
}

void VectorBody::compute_and_write() {
  // Element by element: what lives at the same time is little more than what was read and will be written.
  for (Part& part : parts_)
    for (int element = 0; element < vectors_.width(); ++element) compute(part, element);
  for (Part& part : parts_) {
    OpBuilder::InsertionGuard guard(b_);
    if (part.inside) {
      auto branch = b_.create<scf::IfOp>(loc_, part.inside, /*withElseRegion=*/false);
      b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    for (auto store : loop_.getBody()->getOps<memref::StoreOp>())
      this->store(part.map.lookupOrDefault(store.getMemref()), part.map.lookup(store.getIndices()[0]),
                  store.getValueToStore().getType(), part.stored[store]);
  }
  parts_.clear();
}

/// `offset` bytes after a vector that begins at `element`.
Value VectorBody::address(Value memref, Value element, int64_t element_bytes, int64_t offset) {
  Value at = b_.create<memref::ExtractAlignedPointerAsIndexOp>(loc_, memref);
  at = b_.create<arith::AddIOp>(loc_, at, b_.createOrFold<arith::MulIOp>(loc_, element, index(element_bytes)));
  if (offset > 0) at = b_.create<arith::AddIOp>(loc_, at, index(offset));
  Value bits = b_.create<arith::IndexCastUIOp>(loc_, b_.getI64Type(), at);
  return b_.create<LLVM::IntToPtrOp>(loc_, LLVM::LLVMPointerType::get(b_.getContext(), global_space), bits);
}

VectorBody::Words VectorBody::load(Value memref, Value element, Type type) {
  const int64_t size = type.getIntOrFloatBitWidth() / 8, bytes = size * vectors_.width(), step = std::min(bytes, access_bytes);
  const int64_t count = step / word_bytes(type);
  Type word_type = b_.getIntegerType(8 * word_bytes(type));
  Words words;
  for (int64_t offset = 0; offset < bytes; offset += step) {
    Value from = address(memref, element, size, offset);
    Type whole = count == 1 ? word_type : Type(VectorType::get({count}, word_type));
    Value loaded = b_.create<LLVM::LoadOp>(loc_, whole, from, /*alignment=*/static_cast<unsigned>(step));
    for (int64_t i = 0; i < count; ++i)
      words.push_back(count == 1 ? loaded : b_.create<LLVM::ExtractElementOp>(loc_, loaded, word(i)).getResult());
  }
  return words;
}

Value VectorBody::element_of(const Words& words, Type type, int element) {
  const int64_t bits = type.getIntOrFloatBitWidth(), each = 8 * word_bytes(type) / bits;
  Value value = words[element / each];
  if (each > 1) {
    if (element % each > 0) value = b_.create<arith::ShRUIOp>(loc_, value, word(bits * (element % each)));
    value = b_.create<arith::TruncIOp>(loc_, as_integer(b_, type), value);
  }
  return isa<FloatType>(type) ? b_.create<arith::BitcastOp>(loc_, type, value).getResult() : value;
}

void VectorBody::store(Value memref, Value element, Type type, ArrayRef<Value> values) {
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
  const int64_t size = bits / 8, bytes = size * vectors_.width(), step = std::min(bytes, access_bytes),
                count = step / word_bytes(type);
  for (int64_t offset = 0; offset < bytes; offset += step) {
    Value to = address(memref, element, size, offset);
    const size_t first = static_cast<size_t>(offset / word_bytes(type));
    Value whole = words[first];
    if (count > 1) {
      whole = b_.create<LLVM::UndefOp>(loc_, VectorType::get({count}, words.front().getType()));
      for (int64_t i = 0; i < count; ++i)
        whole = b_.create<LLVM::InsertElementOp>(loc_, whole, words[first + static_cast<size_t>(i)], word(i));
    }
    b_.create<LLVM::StoreOp>(loc_, whole, to, /*alignment=*/static_cast<unsigned>(step));
  }
}

}  // namespace sheaf::kernels
