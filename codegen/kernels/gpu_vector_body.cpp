#include "codegen/kernels/gpu_vector_body.h"

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

void VectorBody::read(ArrayRef<Operation*> ops, Each& each, Value inside) {
  Part& part = parts_.emplace_back(ops, each, inside);
  IRMapping& first = each.front();
  for (Operation* op : ops) {
    if (isa<memref::StoreOp>(op)) continue;
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load && vectors_.whole(*op)) {
      part.loaded[op] = this->load(first.lookupOrDefault(load.getMemref()), first.lookup(load.getIndices()[0]), load.getType());
      continue;
    }
    const Vectors::Place place = vectors_.place(op->getResult(0));
    if (place == Vectors::Place::any) continue;
    clone(*op, first);
    for (size_t element = 1; element < each.size(); ++element) {
      Value value = first.lookup(op->getResult(0));
      if (place == Vectors::Place::next)
        value = b_.createOrFold<arith::AddIOp>(loc_, value, index(static_cast<int64_t>(element)));
      each[element].map(op->getResult(0), value);
    }
  }
}

void VectorBody::compute_element(Part& part, size_t element) {
  IRMapping& map = part.each[element];
  for (Operation* op : part.ops) {
    if (auto found = part.loaded.find(op); found != part.loaded.end())
      map.map(op->getResult(0), element_of(found->second, op->getResult(0).getType(), element));
    else if (auto store = dyn_cast<memref::StoreOp>(op))
      part.stored[op].push_back(map.lookupOrDefault(store.getValueToStore()));
    else if (vectors_.place(op->getResult(0)) == Vectors::Place::any) clone(*op, map);
  }
}

void VectorBody::compute(llvm::function_ref<void(size_t, size_t)> done) {
  // Element by element, so that little more is live at a time than what was read and will be written.
  for (auto [vector, part] : llvm::enumerate(parts_))
    for (size_t element = 0; element < part.each.size(); ++element) {
      compute_element(part, element);
      if (done) done(vector, element);
    }
}

void VectorBody::write() {
  for (Part& part : parts_) {
    OpBuilder::InsertionGuard guard(b_);
    if (part.inside && !part.stored.empty()) {
      auto branch = b_.create<scf::IfOp>(loc_, part.inside, /*withElseRegion=*/false);
      b_.setInsertionPoint(branch.thenBlock()->getTerminator());
    }
    for (Operation* op : part.ops)
      if (auto store = dyn_cast<memref::StoreOp>(op))
        this->store(part.each.front().lookupOrDefault(store.getMemref()), part.each.front().lookup(store.getIndices()[0]),
                    store.getValueToStore().getType(), part.stored[op]);
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

Value VectorBody::element_of(const Words& words, Type type, size_t element) {
  const int64_t bits = type.getIntOrFloatBitWidth(), each = 8 * word_bytes(type) / bits;
  const int64_t within = static_cast<int64_t>(element) % each;
  Value value = words[element / static_cast<size_t>(each)];
  if (each > 1) {
    if (within > 0) value = b_.create<arith::ShRUIOp>(loc_, value, word(bits * within));
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
