#include "codegen/kernels/gpu_vectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;
using mlir::Value;

namespace {

constexpr int64_t most_in_32_bits = std::numeric_limits<int32_t>::max();

int64_t bytes_of(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// A kernel's buffer, as opposed to a table or scratch memory.
bool is_buffer(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  return isa<BlockArgument>(memref) && type.getElementType().isIntOrFloat() &&
         type.getElementType().getIntOrFloatBitWidth() % 8 == 0;
}

/// The multiple that a kernel's argument is known to be.
int64_t known_multiple(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  auto known = function ? function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), multiple_attribute) : IntegerAttr();
  return known ? known.getInt() : 1;
}

}  // namespace

std::optional<Vectors> Vectors::widest(scf::ParallelOp loop, const GpuSchedule& schedule) {
  const bool elements = schedule.lanes == 1 && !schedule.columns;
  if (elements && schedule.block < 256) return std::nullopt;
  // Each lane has a sum for each element of a vector.
  for (int width : {16, 8, 4, 2}) {
    if (!elements && width > 8) continue;
    Vectors vectors(loop, schedule, width);
    const int64_t access = vectors.narrowest_ * width;
    if (vectors.possible_ && access <= 16 && access >= 4) return vectors;
  }
  return std::nullopt;
}

Vectors::Vectors(scf::ParallelOp loop, const GpuSchedule& schedule, int width)
    : along_(schedule.lanes == 1 || schedule.columns ? Along::items : Along::iterations),
      columns_(schedule.columns),
      width_(width) {
  Value item = loop.getInductionVars()[0];
  if (along_ == Along::iterations) {
    possible_ = around(*loop.getBody()) && narrowest_ > 0;
    return;
  }
  // Elements beyond the last whole vector go one by one, columns don't.
  if (columns_ && !multiple(loop.getUpperBound()[0])) return;
  places_[item] = Place::next;
  if (!columns_) indices_.insert(item);
  possible_ = body(*loop.getBody()) && stores_;
}

/// The operations of an item, which are the same for all iterations of the loops in it.
bool Vectors::around(Block& block) {
  for (Operation& op : block.without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) {
      Value low = loop.getLowerBound()[0], high = loop.getUpperBound()[0], index = loop.getInductionVars()[0];
      if (!multiple(low) || !multiple(high)) return false;
      places_[index] = Place::next;
      if (getConstantIntValue(high).value_or(most_in_32_bits + 1) <= most_in_32_bits) indices_.insert(index);
      if (!body(*loop.getBody())) return false;
      continue;
    }
    for (mlir::Region& region : op.getRegions())
      for (Block& inner : region)
        if (!isa<scf::ForOp, scf::IfOp>(op) || !around(inner)) return false;
  }
  return true;
}

/// A column's loop over rows: an iteration is the same row for all neighbours.
bool Vectors::nested(scf::ParallelOp loop) {
  if (!columns_ || along_ != Along::items || isa<scf::ParallelOp>(loop->getParentOp()->getParentOp())) return false;
  for (Value bound : {loop.getLowerBound()[0], loop.getUpperBound()[0]})
    if (place(bound) != Place::same) return false;
  if (!body(*loop.getBody())) return false;
  for (Value result : loop.getResults()) places_[result] = Place::any;
  return true;
}

bool Vectors::body(Block& block) {
  bool scattered = false;
  for (Operation& op : block.without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) {
      if (!nested(loop)) return false;
      continue;
    }
    if (op.getNumRegions() != 0) return false;
    const Place place = result_of(op);
    for (Value result : op.getResults()) places_[result] = place;
    if (divides_index(op)) {
      indices_.insert(op.getResult(0));
      divisions_.insert(&op);
    }
    if (!access(op, block, scattered)) return false;
  }
  // Without a vector among the loads, neighbouring threads should read neighbouring elements.
  return bytes_read_[&block] > 0 || !scattered;
}

bool Vectors::access(Operation& op, Block& block, bool& scattered) {
  Type type;
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    type = load.getType();
    scattered |= !whole(op) && llvm::any_of(load.getIndices(), [&](Value at) { return place(at) != Place::same; });
    if (whole(op)) bytes_read_[&block] += width_ * bytes_of(type);
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    if (!whole(op)) return false;
    type = store.getValueToStore().getType();
    stores_ = true;
  } else if (!isMemoryEffectFree(&op)) {
    return false;
  }
  if (whole(op)) narrowest_ = narrowest_ == 0 ? bytes_of(type) : std::min(narrowest_, bytes_of(type));
  return true;
}

bool Vectors::divides_index(Operation& op) const {
  if (!isa<arith::DivUIOp, arith::RemUIOp>(op) || !indices_.contains(op.getOperand(0))) return false;
  if (std::optional<int64_t> by = getConstantIntValue(op.getOperand(1))) return *by <= most_in_32_bits;
  // Divisors known only at run time are checked before the loop.
  return along_ == Along::items && op.getOperand(1).getParentBlock() != op.getBlock();
}

Vectors::Place Vectors::place(Value value) const {
  auto found = places_.find(value);
  return found == places_.end() ? Place::same : found->second;  // from outside of the loop
}

bool Vectors::multiple(Value value) const {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) return *constant % width_ == 0;
  Operation* op = value.getDefiningOp();
  if (!op) return known_multiple(value) % width_ == 0;
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

std::optional<SmallVector<Value>> Vectors::divisors() const {
  if (divisions_.empty()) return std::nullopt;
  SmallVector<Value> divisors;
  for (Operation* op : divisions_)
    if (!getConstantIntValue(op->getOperand(1)) && !llvm::is_contained(divisors, op->getOperand(1)))
      divisors.push_back(op->getOperand(1));
  return divisors;
}

}  // namespace sheaf::kernels
