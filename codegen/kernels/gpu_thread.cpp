#include "codegen/kernels/gpu_thread.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace sheaf::kernels {

using namespace mlir;
using mlir::Location;  // not those of namespace sheaf
using mlir::Value;

namespace {
template <typename Register>
Value number(OpBuilder& builder, Location loc) {
  Value narrow = builder.create<Register>(loc, builder.getI32Type());
  return builder.create<arith::IndexCastUIOp>(loc, builder.getIndexType(), narrow);
}
Value add(OpBuilder& builder, Location loc, Value x, Value y) { return builder.createOrFold<arith::AddIOp>(loc, x, y); }
}  // namespace

ThreadBody::ThreadBody(OpBuilder& builder, func::FuncOp function, const GpuSchedule& schedule, IRMapping map)
    : b_(builder), loc_(function.getLoc()), schedule_(schedule), map_(std::move(map)),
      lanes_(builder, function, schedule, number<NVVM::ThreadIdXOp>(builder, function.getLoc())) {}

Value ThreadBody::constant(int64_t value) { return b_.create<arith::ConstantIndexOp>(loc_, value); }

void ThreadBody::around(Operation& op) { b_.clone(op, map_); }

void ThreadBody::range(scf::ParallelOp loop, Value work) {
  const int64_t items = schedule_.block / schedule_.lanes;
  Value first = b_.create<arith::MulIOp>(loc_, number<NVVM::BlockIdXOp>(b_, loc_), constant(items));
  Value step = b_.create<arith::MulIOp>(loc_, number<NVVM::GridDimXOp>(b_, loc_), constant(items));
  // With columns all threads of a block meet at barriers, so those beyond the range come along.
  const bool together = schedule_.columns && schedule_.lanes > 1;
  auto steps = b_.create<scf::ForOp>(loc_, together ? first : add(b_, loc_, first, lanes_.item()), work, step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(steps.getBody()->getTerminator());
  Value item = steps.getInductionVar();
  if (together) {
    item = add(b_, loc_, item, lanes_.item());
    exists_ = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, item, work);
    Value last = b_.create<arith::SubIOp>(loc_, work, constant(1));
    item = b_.create<arith::MinUIOp>(loc_, item, last);
  }
  map_.map(loop.getInductionVars()[0], item);
  block(*loop.getBody(), /*shared=*/schedule_.lanes > 1);
}

void ThreadBody::block(Block& from, bool shared) {
  for (Operation& op : from.without_terminator()) {
    if (auto loop = dyn_cast<scf::ParallelOp>(op))
      parallel(loop, shared);
    else if (isa<scf::ForOp, scf::IfOp>(op))
      nested(op, shared);
    else if (shared && isa<memref::StoreOp, memref::AtomicRMWOp>(op))
      for_the_item(op);
    else
      b_.clone(op, map_);
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

Value ThreadBody::combined(Region& combination, Value x, Value y) {
  IRMapping map;
  map.map(combination.getArguments(), ValueRange{x, y});
  for (Operation& op : combination.front().without_terminator()) b_.clone(op, map);
  return map.lookup(combination.front().getTerminator()->getOperand(0));
}

void ThreadBody::parallel(scf::ParallelOp op, bool shared) {
  Value low = mapped(op.getLowerBound()[0]), high = mapped(op.getUpperBound()[0]);
  SmallVector<Value> start = llvm::map_to_vector(op.getInitVals(), [&](Value value) { return mapped(value); });
  if (shared) low = add(b_, loc_, low, lanes_.lane());
  if (shared && exists_) high = b_.create<arith::SelectOp>(loc_, exists_, high, low);
  auto loop = b_.create<scf::ForOp>(loc_, low, high, constant(shared ? schedule_.lanes : 1), start);
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  {
    OpBuilder::InsertionGuard guard(b_);
    if (start.empty())
      b_.setInsertionPoint(loop.getBody()->getTerminator());
    else
      b_.setInsertionPointToEnd(loop.getBody());
    map_.map(op.getInductionVars()[0], loop.getInductionVar());
    block(*op.getBody(), /*shared=*/false);
    SmallVector<Value> sums;
    for (auto [part, sum, region] : llvm::zip(reduce.getOperands(), loop.getRegionIterArgs(), reduce.getReductions()))
      sums.push_back(combined(region, sum, mapped(part)));
    if (!sums.empty()) b_.create<scf::YieldOp>(loc_, sums);
  }
  for (auto [result, sum, region] : llvm::zip(op.getResults(), loop.getResults(), reduce.getReductions())) {
    Value whole = sum;
    if (shared) whole = lanes_.combine(whole, [&, &region = region](Value x, Value y) { return combined(region, x, y); });
    map_.map(result, whole);
  }
}

/// A loop or branch that an item's lanes go through together, or a thread by itself.
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
