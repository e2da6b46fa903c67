// A GPU thread's work on vectors of neighbouring elements.
#include "codegen/kernels/gpu_thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <limits>

namespace sheaf::kernels {

using namespace mlir;
using mlir::Value;

namespace {
SmallVector<Operation*> operations(Block& block) {
  return llvm::map_to_vector(block.without_terminator(), [](Operation& op) { return &op; });
}
}  // namespace

/// `index` begins at `at`.
void ThreadBody::neighbours(Each& each, Value index, Value at) {
  for (auto [i, map] : llvm::enumerate(each)) map.map(index, i == 0 ? at : add(at, constant(static_cast<int64_t>(i))));
}

/// A thread's vectors are a block apart from each other. The elements beyond the last whole vector go one by one, as do all of
/// them if there are more than 32 bits can count, since indices are divided in 32 bits.
void ThreadBody::range_by_vectors(scf::ParallelOp loop, Value work, Value first, Value step) {
  Value end = b_.create<arith::SubIOp>(loc_, work, b_.create<arith::RemUIOp>(loc_, work, constant(schedule_.width)));
  if (auto divisors = vectors_->divisors()) {
    Value most = work;
    for (Value divisor : *divisors) most = b_.create<arith::MaxUIOp>(loc_, most, mapped(divisor));
    Value fits = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ule, most, constant(std::numeric_limits<int32_t>::max()));
    end = b_.create<arith::SelectOp>(loc_, fits, end, constant(0));
  }
  OpBuilder::InsertionGuard guard(b_);
  Value start = add(first, b_.create<arith::MulIOp>(loc_, lanes_.item(), constant(schedule_.width)));
  auto steps = b_.create<scf::ForOp>(loc_, start, end, step);
  b_.setInsertionPoint(steps.getBody()->getTerminator());
  VectorBody body(b_, loc_, *vectors_);
  const SmallVector<Operation*> ops = operations(*loop.getBody());
  SmallVector<Each> vectors(static_cast<size_t>(schedule_.each / schedule_.width),
                            Each(static_cast<size_t>(schedule_.width), map_));
  Value base = steps.getInductionVar();
  for (auto [i, each] : llvm::enumerate(vectors)) {
    Value at = base, inside;
    if (i > 0) {
      Value next = add(base, constant(static_cast<int64_t>(i) * schedule_.width * schedule_.block));
      inside = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, next, end);
      at = b_.create<arith::SelectOp>(loc_, inside, next, base);
    }
    neighbours(each, loop.getInductionVars()[0], at);
    body.read(ops, each, inside);
  }
  body.compute();
  body.write();
  b_.setInsertionPointAfter(steps);
  const Value threads = constant(schedule_.block);
  Value thread = add(b_.create<arith::MulIOp>(loc_, register_number<NVVM::BlockIdXOp>(b_, loc_), threads), lanes_.item());
  auto rest = b_.create<scf::ForOp>(loc_, add(end, thread), work,
                                    b_.create<arith::MulIOp>(loc_, register_number<NVVM::GridDimXOp>(b_, loc_), threads));
  b_.setInsertionPoint(rest.getBody()->getTerminator());
  map_.map(loop.getInductionVars()[0], rest.getInductionVar());
  block(*loop.getBody(), /*shared=*/false);
}

/// The range is whole vectors: each is an item, whose columns are summed side by side. If threads share an item, they meet at
/// barriers, so those beyond the range take part.
void ThreadBody::columns_by_vectors(scf::ParallelOp loop, Value work, Value first, Value step) {
  const bool together = schedule_.lanes > 1;
  Value mine = b_.create<arith::MulIOp>(loc_, lanes_.item(), constant(schedule_.width));
  auto steps = b_.create<scf::ForOp>(loc_, together ? first : add(first, mine), work, step);
  OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(steps.getBody()->getTerminator());
  Value item = steps.getInductionVar(), stores;
  if (together) {
    item = add(item, mine);
    exists_ = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::ult, item, work);
    item = b_.create<arith::MinUIOp>(loc_, item, b_.create<arith::SubIOp>(loc_, work, constant(schedule_.width)));
    Value one = b_.create<arith::CmpIOp>(loc_, arith::CmpIPredicate::eq, lanes_.lane(), constant(0));
    stores = b_.create<arith::AndIOp>(loc_, one, exists_);
  }
  Each each(static_cast<size_t>(schedule_.width), map_);
  neighbours(each, loop.getInductionVars()[0], item);
  VectorBody body(b_, loc_, *vectors_);
  SmallVector<Operation*> ops;
  auto emit = [&] {
    body.read(ops, each, stores);
    body.compute();
    body.write();
    ops.clear();
  };
  for (Operation& op : loop.getBody()->without_terminator()) {
    if (auto inner = dyn_cast<scf::ParallelOp>(op)) {
      emit();
      loop_by_vectors(inner, each);
    } else {
      ops.push_back(&op);
    }
  }
  emit();
}

void ThreadBody::loop_by_vectors(scf::ParallelOp op, Each& each) {
  constexpr int64_t in_flight = 64, most = 4;  // bytes, vectors
  const bool columns = schedule_.columns;
  const auto width = static_cast<size_t>(schedule_.width);
  Value low = each.front().lookupOrDefault(op.getLowerBound()[0]), high = each.front().lookupOrDefault(op.getUpperBound()[0]);
  low =
      add(low, columns ? lanes_.lane() : b_.create<arith::MulIOp>(loc_, lanes_.lane(), constant(schedule_.width)).getResult());
  if (exists_) high = b_.create<arith::SelectOp>(loc_, exists_, high, low);
  SmallVector<Value> sums;  // for each result: the sums of a vector's elements
  for (Value none : op.getInitVals()) sums.append(width, each.front().lookupOrDefault(none));
  const int64_t bytes = std::max<int64_t>(vectors_->bytes_read(*op.getBody()), 1);
  int together = static_cast<int>(std::clamp<int64_t>(in_flight / bytes, 1, most));
  while (together > 1 && iterations(op) < together * stride()) together /= 2;
  if (together > 1) low = vectors_together(op, low, high, together, each, sums);
  vectors_together(op, low, high, 1, each, sums);
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    MutableArrayRef<Value> parts = MutableArrayRef(sums).slice(i * width, width);
    auto both = [&, &region = reduce.getReductions()[i]](Value x, Value y) { return combined(region, x, y); };
    if (columns) {
      lanes_.combine(parts, both);
    } else {
      Value whole = parts.front();
      for (Value part : parts.drop_front()) whole = both(whole, part);
      std::fill(parts.begin(), parts.end(), lanes_.combine(whole, both));
    }
    for (auto [map, part] : llvm::zip(each, parts)) map.map(result, part);
  }
}

/// How far apart a thread's successive vectors begin in a loop within an item.
int64_t ThreadBody::stride() const { return int64_t{schedule_.lanes} * (schedule_.columns ? 1 : schedule_.width); }

/// A thread's vectors from `low` on, `count` at a time: all are read before anything is computed, and they are added in their
/// order. Returns the first vector left over.
Value ThreadBody::vectors_together(scf::ParallelOp op, Value low, Value high, int count, const Each& outside,
                                   SmallVector<Value>& sums) {
  auto reduce = cast<scf::ReduceOp>(op.getBody()->getTerminator());
  SmallVector<Value> start{low};
  llvm::append_range(start, sums);
  // Signed: negative for a short loop.
  Value end = count == 1 ? high : b_.create<arith::SubIOp>(loc_, high, constant((count - 1) * stride())).getResult();
  Value step = constant(count * stride());
  auto loop = b_.create<scf::ForOp>(loc_, low, end, step, start);
  {
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToEnd(loop.getBody());
    SmallVector<Each> vectors(static_cast<size_t>(count), outside);
    VectorBody body(b_, loc_, *vectors_);
    const SmallVector<Operation*> ops = operations(*op.getBody());
    for (auto [i, each] : llvm::enumerate(vectors)) {
      Value index = op.getInductionVars()[0], at = add(loop.getInductionVar(), constant(static_cast<int64_t>(i) * stride()));
      if (schedule_.columns) llvm::for_each(each, [&](IRMapping& map) { map.map(index, at); });
      else neighbours(each, index, at);
      body.read(ops, each);
    }
    SmallVector<Value> next(loop.getRegionIterArgs());
    next.front() = add(loop.getInductionVar(), step);
    const auto width = static_cast<size_t>(schedule_.width);
    body.compute([&](size_t vector, size_t element) {
      for (auto [result, region] : llvm::enumerate(reduce.getReductions())) {
        Value& sum = next[1 + result * width + element];
        sum = combined(region, sum, vectors[vector][element].lookupOrDefault(reduce.getOperands()[result]));
      }
    });
    body.write();
    b_.create<scf::YieldOp>(loc_, next);
  }
  sums.assign(loop.getResults().begin() + 1, loop.getResults().end());
  return loop.getResult(0);
}

}  // namespace sheaf::kernels
