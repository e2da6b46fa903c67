#include "codegen/kernels/gpu_thread.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

ThreadBody::ThreadBody(OpBuilder& builder, func::FuncOp function, const GpuSchedule& schedule, const Vectors* vectors,
                       IRMapping map)
    : b_(builder),
      loc_(function.getLoc()),
      schedule_(schedule),
      vectors_(vectors),
      map_(std::move(map)),
      lanes_(builder, function, schedule, register_number<NVVM::ThreadIdXOp>(builder, function.getLoc())) {}

Value ThreadBody::constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }
Value ThreadBody::add(Value x, Value y) { return b_.createOrFold<arith::AddIOp>(loc_, x, y); }

void ThreadBody::around(Operation& op) { b_.clone(op, map_); }

void ThreadBody::range(scf::ParallelOp loop, Value work) {
  const int64_t items = schedule_.items();
  Value first = b_.create<arith::MulIOp>(loc_, register_number<NVVM::BlockIdXOp>(b_, loc_), constant(items));
  Value step = b_.create<arith::MulIOp>(loc_, register_number<NVVM::GridDimXOp>(b_, loc_), constant(items));
  if (vectors_ && schedule_.columns) return columns_by_vectors(loop, work, first, step);
  if (vectors_ && vectors_->along() == Vectors::Along::items) return range_by_vectors(loop, work, first, step);
  if (schedule_.each > 1) return range_by_several(loop, work, first, step);
  // With columns, all threads of a block meet at barriers, so threads beyond the range take part.
  const bool together = schedule_.columns && schedule_.lanes > 1;
  auto steps = b_.create<scf::ForOp>(loc_, together ? first : add(first, lanes_.item()), work, step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(steps.getBody()->getTerminator());
  Value item = steps.getInductionVar();
  if (together) {
    item = add(item, lanes_.item());
    exists_ = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, item, work);
    Value last = b_.create<arith::SubIOp>(loc_, work, constant(1));
    item = b_.create<arith::MinUIOp>(loc_, item, last);
  }
  map_.map(loop.getInductionVars()[0], item);
  block(*loop.getBody(), /*shared=*/schedule_.lanes > 1 || vectors_);
}

/// For each of a thread's items in turn, a block's items are adjacent. A full block processes them together; the last block may
/// have fewer, and processes them one by one.
void ThreadBody::range_by_several(scf::ParallelOp loop, Value work, Value first, Value step) {
  auto steps = b_.create<scf::ForOp>(loc_, first, work, step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(steps.getBody()->getTerminator());
  Value item = add(steps.getInductionVar(), lanes_.item());
  Value end = add(steps.getInductionVar(), constant(schedule_.items()));
  Value whole = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ule, end, work);
  auto branch = b_.create<scf::IfOp>(loc_, whole, /*withElseRegion=*/true);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  SmallVector<Value> items;
  for (int i = 0; i < schedule_.each; ++i) items.push_back(add(item, constant(int64_t{i} * schedule_.block)));
  abreast(*loop.getBody(), items);
  b_.setInsertionPoint(branch.elseBlock()->getTerminator());
  auto rest = b_.create<scf::ForOp>(loc_, item, work, constant(schedule_.block));
  b_.setInsertionPoint(rest.getBody()->getTerminator());
  map_.map(loop.getInductionVars()[0], rest.getInductionVar());
  block(*loop.getBody(), /*shared=*/false);
}

SmallVector<IRMapping> ThreadBody::abreast(Block& from, ValueRange indices) {
  SmallVector<IRMapping> maps(indices.size(), map_);
  for (auto [map, index] : llvm::zip(maps, indices)) map.map(from.getArgument(0), index);
  for (Operation& op : from.without_terminator())
    for (IRMapping& map : maps) b_.clone(op, map);
  return maps;
}

bool can_go_abreast(Block& body, int most) {
  constexpr int function = 24;  // an exponential lowers to about these
  int count = 0;
  for (Operation& op : body.without_terminator()) {
    if (op.getNumRegions() != 0) return false;
    count += isa<math::MathDialect>(op.getDialect()) ? function : 1;
  }
  return count <= most;
}

void ThreadBody::block(Block& from, bool shared) {
  for (Operation& op : from.without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op)) parallel(loop, shared);
    else if (isa<scf::ForOp, scf::IfOp>(op)) nested(op, shared);
    else if (shared && isa<memref::StoreOp, memref::AtomicRMWOp>(op)) for_the_item(op);
    else b_.clone(op, map_);
  }
}

void ThreadBody::for_the_item(Operation& op) {
  Value one = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, lanes_.lane(), constant(0));
  if (exists_) one = b_.create<arith::AndIOp>(loc_, one, exists_);
  auto branch = b_.create<scf::IfOp>(loc_, one, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  b_.clone(op, map_);
}

Value ThreadBody::combined(mlir::Region& combination, Value x, Value y) {
  IRMapping map;
  map.map(combination.getArguments(), ValueRange{x, y});
  for (Operation& op : combination.front().without_terminator()) b_.clone(op, map);
  return map.lookup(combination.front().getTerminator()->getOperand(0));
}

void ThreadBody::parallel(scf::ParallelOp op, bool shared) {
  if (shared && vectors_) {
    Each each(static_cast<size_t>(vectors_->width()), map_);
    loop_by_vectors(op, each);
    for (Value result : op.getResults()) map_.map(result, each.front().lookup(result));
    return;
  }
  Value low = mapped(op.getLowerBound()[0]), high = mapped(op.getUpperBound()[0]);
  SmallVector<Value> sums = llvm::map_to_vector(op.getInitVals(), [&](Value value) { return mapped(value); });
  if (shared) low = add(low, lanes_.lane());
  if (shared && exists_) high = b_.create<arith::SelectOp>(loc_, exists_, high, low);
  if (shared && can_go_abreast(*op.getBody(), 24) && iterations(op) > abreast_ * schedule_.lanes)
    low = several_at_a_time(op, low, high, sums);
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  auto loop = b_.create<scf::ForOp>(loc_, low, high, constant(shared ? schedule_.lanes : 1), sums);
  {
    OpBuilder::InsertionGuard guard(b_);
    if (sums.empty()) b_.setInsertionPoint(loop.getBody()->getTerminator());
    else b_.setInsertionPointToEnd(loop.getBody());
    map_.map(op.getInductionVars()[0], loop.getInductionVar());
    block(*op.getBody(), /*shared=*/false);
    SmallVector<Value> parts = llvm::map_to_vector(reduce.getOperands(), [&](Value part) { return mapped(part); });
    if (!sums.empty()) b_.create<scf::YieldOp>(loc_, combined(reduce, loop.getRegionIterArgs(), parts));
  }
  for (auto [result, sum, region] : llvm::zip(op.getResults(), loop.getResults(), reduce.getReductions())) {
    Value whole = sum;
    if (shared) whole = lanes_.combine(whole, [&, &region = region](Value x, Value y) { return combined(region, x, y); });
    map_.map(result, whole);
  }
}

/// The number of iterations of a loop for all lanes, if known; else the largest integer.
int64_t ThreadBody::iterations(scf::ParallelOp op) const {
  auto low = getConstantIntValue(op.getLowerBound()[0]), high = getConstantIntValue(op.getUpperBound()[0]);
  return low && high ? *high - *low : std::numeric_limits<int64_t>::max();
}

/// A lane's iterations of `op` from `low` on, several at a time with sums of their own, so that their loads overlap. Returns
/// the first of the few iterations left over. `sums` holds the initial sums, then the results.
Value ThreadBody::several_at_a_time(scf::ParallelOp op, Value low, Value high, SmallVector<Value>& sums) {
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  const int64_t lanes = schedule_.lanes;
  const size_t count = sums.size();
  SmallVector<Value> start{low};
  for (int i = 0; i < abreast_; ++i) llvm::append_range(start, sums);
  Value end = b_.create<arith::SubIOp>(loc_, high, constant((abreast_ - 1) * lanes));  // signed: negative for a short loop
  Value step = constant(abreast_ * lanes);
  auto loop = b_.create<scf::ForOp>(loc_, low, end, step, start);
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    SmallVector<Value> indices;
    for (int i = 0; i < abreast_; ++i) indices.push_back(add(loop.getInductionVar(), constant(i * lanes)));
    SmallVector<Value> next{add(loop.getInductionVar(), step)};
    for (auto [i, map] : llvm::enumerate(abreast(*op.getBody(), indices))) {
      SmallVector<Value> parts =
          llvm::map_to_vector(reduce.getOperands(), [&](Value part) { return map.lookupOrDefault(part); });
      llvm::append_range(next, combined(reduce, loop.getRegionIterArgs().slice(1 + i * count, count), parts));
    }
    b_.create<scf::YieldOp>(loc_, next);
  }
  ValueRange results = loop.getResults();
  sums.assign(results.begin() + 1, results.begin() + 1 + count);
  for (int i = 1; i < abreast_; ++i) sums = combined(reduce, sums, results.slice(1 + i * count, count));
  return results[0];
}

SmallVector<Value> ThreadBody::combined(scf::ReduceOp reduce, ValueRange xs, ValueRange ys) {
  SmallVector<Value> results;
  for (auto [x, y, region] : llvm::zip(xs, ys, reduce.getReductions())) results.push_back(combined(region, x, y));
  return results;
}

/// A loop or branch that all lanes of an item, or a single thread, execute.
void ThreadBody::nested(Operation& op, bool shared) {
  Operation* copy = b_.cloneWithoutRegions(op, map_);
  OpBuilder::InsertionGuard guard(b_);
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions())) {
    if (from.empty()) continue;
    Block& body = to.emplaceBlock();
    for (BlockArgument argument : from.getArguments())
      map_.map(argument, body.addArgument(argument.getType(), argument.getLoc()));
    b_.setInsertionPointToEnd(&body);
    block(from.front(), shared);
    b_.clone(*from.front().getTerminator(), map_);
  }
}

}  // namespace sheaf::kernels
