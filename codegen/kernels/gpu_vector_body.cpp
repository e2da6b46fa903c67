#include "codegen/kernels/gpu_vector_body.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace sheaf::kernels {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

Value VectorBody::index(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }

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
      part.loaded[op] = access_.load(first.lookupOrDefault(load.getMemref()), first.lookup(load.getIndices()[0]),
                                     load.getType(), vectors_.width());
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
      map.map(op->getResult(0), access_.element_of(found->second, op->getResult(0).getType(), element));
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
        access_.store_elements(part.each.front().lookupOrDefault(store.getMemref()),
                               part.each.front().lookup(store.getIndices()[0]), store.getValueToStore().getType(),
                               part.stored[op]);
  }
  parts_.clear();
}

}  // namespace sheaf::kernels
