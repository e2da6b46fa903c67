#include "codegen/kernels/gpu_vectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;
using mlir::Value;

namespace {

int64_t bytes_of(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// A kernel's buffer, as against a table or scratch memory.
bool is_buffer(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return isa<BlockArgument>(memref) && type.getElementType().isIntOrFloat() &&
         type.getElementType().getIntOrFloatBitWidth() % 8 == 0;
}

}  // namespace

std::optional<Vectors> Vectors::widest(scf::ParallelOp loop) {
  for (int width : {16, 8, 4, 2}) {
    Vectors vectors(loop, width);
    const int64_t access = vectors.narrowest_ * width;
    if (vectors.possible() && access <= 16 && access >= 4) return vectors;
  }
  return std::nullopt;
}

Vectors::Vectors(scf::ParallelOp loop, int width) : loop_(loop), width_(width) {
  Value element = loop.getInductionVars()[0];
  places_[element] = Place::next;
  llvm::SmallPtrSet<Value, 8> indices;  // no larger than the range
  indices.insert(element);
  for (Operation& op : loop.getBody()->without_terminator()) {
    const Place place = result_of(op);
    for (Value result : op.getResults()) places_[result] = place;
    if (!isa<arith::DivUIOp, arith::RemUIOp>(op) || !indices.contains(op.getOperand(0))) continue;
    std::optional<int64_t> by = getConstantIntValue(op.getOperand(1));
    if (by ? *by > std::numeric_limits<int32_t>::max() : op.getOperand(1).getParentBlock() == loop.getBody()) continue;
    indices.insert(op.getResult(0));
    divisions_.insert(&op);
  }
  possible_ = check();
}

Vectors::Place Vectors::place(Value value) const {
  auto found = places_.find(value);
  return found == places_.end() ? Place::same : found->second;  // from outside of the loop
}

bool Vectors::multiple(Value value) const {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) return *constant % width_ == 0;
  Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (isa<arith::MulIOp>(op)) return multiple(op->getOperand(0)) || multiple(op->getOperand(1));
  if (isa<arith::AddIOp>(op)) return multiple(op->getOperand(0)) && multiple(op->getOperand(1));
  return false;
}

Vectors::Place Vectors::result_of(Operation& op) const {
  if (llvm::all_of(op.getOperands(), [&](Value operand) { return place(operand) == Place::same; })) return Place::same;
  if (op.getNumOperands() != 2 || place(op.getOperand(0)) == Place::any) return Place::any;
  Value x = op.getOperand(0), y = op.getOperand(1);
  if (isa<arith::AddIOp>(op)) {
    if (place(x) != Place::next) std::swap(x, y);
    return place(x) == Place::next && place(y) == Place::same && multiple(y) ? Place::next : Place::any;
  }
  if (place(x) != Place::next || place(y) != Place::same || !multiple(y)) return Place::any;
  if (isa<arith::DivUIOp>(op)) return Place::same;
  if (isa<arith::RemUIOp>(op)) return Place::next;
  return Place::any;
}

bool Vectors::whole(Operation& op) const {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return is_buffer(load.getMemref()) && load.getIndices().size() == 1 && place(load.getIndices()[0]) == Place::next;
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return is_buffer(store.getMemref()) && store.getIndices().size() == 1 && place(store.getIndices()[0]) == Place::next;
  return false;
}

bool Vectors::check() {
  bool stores = false, scattered = false;
  for (Operation& op : loop_.getBody()->without_terminator()) {
    if (op.getNumRegions() != 0) return false;
    Type type;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      type = load.getType();
      scattered |= !whole(op) && llvm::any_of(load.getIndices(), [&](Value at) { return place(at) != Place::same; });
      if (whole(op)) bytes_read_ += width_ * bytes_of(type);
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (!whole(op)) return false;
      type = store.getValueToStore().getType();
      stores = true;
    } else if (!isMemoryEffectFree(&op)) {
      return false;
    }
    if (whole(op)) narrowest_ = narrowest_ == 0 ? bytes_of(type) : std::min(narrowest_, bytes_of(type));
  }
  // Without a vector among the loads, neighbouring threads had better read neighbouring elements.
  return stores && (bytes_read_ > 0 || !scattered);
}

std::optional<SmallVector<Value>> Vectors::divisors() const {
  if (divisions_.empty()) return std::nullopt;
  SmallVector<Value> divisors;
  for (Operation* op : divisions_)
    if (!getConstantIntValue(op->getOperand(1)) && !llvm::is_contained(divisors, op->getOperand(1)))
      divisors.push_back(op->getOperand(1));
  return divisors;
}

}  // namespace sheaf::kernels
