// nn-fuse-elementwise: fuses each chain of element-wise ops into one kernel, with the softmax, norm or sum among them.
#include "ir/Analysis/ParameterAnalysis.h"
#include "passes/Passes.h"
#include "passes/nn/Notes.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFUSEELEMENTWISE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// A kernel takes its buffers in an array, so this bounds only the register pressure.
constexpr unsigned kMostInputs = 16;

/// A group is rebuilt with each op that joins, so its cost is quadratic in its size.
constexpr size_t kMostOps = 64;

size_t size_of(nn::FusedOp fused) { return fused.getBody().front().getOperations().size() - 1; }

/// The op over rows in a group; null if there is none.
Operation* row_op(nn::FusedOp fused) {
  for (Operation& op : fused.getBody().front())
    if (nn::is_row_op(&op)) return &op;
  return nullptr;
}

/// Whether `value`, in the body of `anchor`, is used only by the ops that compute anchor's first operand (`before`), or only by
/// ops after anchor.
bool used_on_one_side(mlir::Value value, Operation* anchor, bool before) {
  for (OpOperand& use : value.getUses()) {
    if (use.getOwner() == anchor) {
      if (!before || use.getOperandNumber() != 0) return false;
    } else if (isa<nn::YieldOp>(use.getOwner())) {
      return false;
    } else if (use.getOwner()->isBeforeInBlock(anchor)) {
      // An op before the anchor may still be used after it.
      if (!used_on_one_side(use.getOwner()->getResult(0), anchor, before)) return false;
    } else if (before) {
      return false;
    }
  }
  return true;
}

/// Whether `value`, in the body of `anchor`, is anchor's first operand or used only to compute it.
bool leads_to(mlir::Value value, Operation* anchor) {
  return llvm::any_of(value.getUses(), [&](OpOperand& use) {
    if (use.getOwner() == anchor) return use.getOperandNumber() == 0;
    return !isa<nn::YieldOp>(use.getOwner()) && used_on_one_side(use.getOwner()->getResult(0), anchor, true);
  });
}

bool is_reduction(Operation* op) { return isa<nn::SumOp, nn::MeanOp, nn::ExtremumOp>(op); }

/// An op over no dimensions has no kernel of its own kind.
bool reduces_nothing(Operation* op) {
  if (auto sum = dyn_cast<nn::SumOp>(op)) return sum.getDims().empty();
  if (auto mean = dyn_cast<nn::MeanOp>(op)) return mean.getDims().empty();
  if (auto extremum = dyn_cast<nn::ExtremumOp>(op)) return extremum.getDims().empty();
  return false;
}

bool asks_where_it_is(nn::FusedOp fused) {
  return llvm::any_of(fused.getBody().front().without_terminator(), [](Operation& op) {
    auto elementwise = dyn_cast<nn::ElementwiseOpInterface>(op);
    return elementwise && elementwise.usesCoordinates();
  });
}

/// A kernel over rows reads the operands of fused ops at its current element. Not every kernel can broadcast them, or knows the
/// element's position.
bool fits_before(nn::FusedOp elementwise, Operation* anchor) {
  if (is_reduction(anchor)) return true;
  if (asks_where_it_is(elementwise)) return false;
  if (isa<nn::SoftmaxOp>(anchor)) return true;
  return llvm::all_of(elementwise.getInputs().getTypes(),
                      [&](mlir::Type type) { return type == anchor->getResult(0).getType(); });
}
bool fits_after(nn::FusedOp elementwise, mlir::Value result, Operation* anchor) {
  if (asks_where_it_is(elementwise)) return false;
  if (isa<nn::SoftmaxOp>(anchor)) return true;
  return llvm::all_of(elementwise.getInputs(),
                      [&](mlir::Value input) { return input == result || input.getType() == anchor->getResult(0).getType(); });
}

ArrayRef<int64_t> shape_of(mlir::Type type) { return cast<RankedTensorType>(type).getShape(); }

/// Whether a tensor of type `to` has elements of one of type `from` several times over, as a broadcast makes it.
bool repeats(mlir::Type from, mlir::Type to) {
  ArrayRef<int64_t> x = shape_of(from), y = shape_of(to);
  if (x.size() < y.size()) return true;
  return llvm::any_of(llvm::zip(x, y), [](auto sizes) { return std::get<0>(sizes) == 1 && std::get<1>(sizes) != 1; });
}

/// Whether a group spreads what it reads over a larger tensor. Each of its consumers computes it anew, which is cheaper than to write the
/// tensor and to read it.
bool spreads(nn::FusedOp fused) {
  mlir::Type made = fused.getResult(0).getType();
  return !row_op(fused) && !fused.getInputs().empty() &&
         llvm::all_of(fused.getInputs(), [&](mlir::Value input) { return repeats(input.getType(), made); });
}

/// Groups whose results depend only on parameters. They are never joined with others, so a group keeps the property.
using Alone = llvm::DenseMap<Operation*, bool>;

/// An nn.fused around one op.
nn::FusedOp wrap(Operation* op) {
  OpBuilder builder(op);
  llvm::SetVector<mlir::Value> inputs(op->operand_begin(), op->operand_end());
  auto fused = builder.create<nn::FusedOp>(op->getLoc(), op->getResultTypes(), inputs.getArrayRef());
  Block* body = builder.createBlock(&fused.getBody());
  IRMapping map;
  for (mlir::Value input : inputs) map.map(input, body->addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(body);
  Operation* clone = builder.clone(*op, map);
  take_notes(op, fused);
  take_result(op, fused);
  clone->removeAttr(nn::kNotes);
  builder.create<nn::YieldOp>(op->getLoc(), clone->getResults());
  op->replaceAllUsesWith(fused->getResults());
  op->erase();
  return fused;
}

/// Moves a fused producer whose result only `consumer` uses into it, or a copy of one that spreads what it reads.
struct FuseProducer : OpRewritePattern<nn::FusedOp> {
  FuseProducer(MLIRContext* context, Alone& alone) : OpRewritePattern(context), alone_(alone) {}

  LogicalResult matchAndRewrite(nn::FusedOp consumer, PatternRewriter& rewriter) const override {
    for (mlir::Value input : consumer.getInputs()) {
      auto producer = input.getDefiningOp<nn::FusedOp>();
      if (!producer || !obstacle(producer, consumer, alone_).empty()) continue;
      fuse(producer, consumer, rewriter);
      return success();
    }
    return failure();
  }

  /// Why `producer` doesn't join `consumer`; empty if it does.
  static std::string obstacle(nn::FusedOp producer, nn::FusedOp consumer, const Alone& alone) {
    mlir::Value made = producer.getResult(0);
    const bool shared = !producer->hasOneUse() && (alone.lookup(producer) || !spreads(producer));
    if (producer->getNumResults() != 1 || shared || producer->hasAttr(nn::kApart))
      return "something else needs the result between them";
    if (producer.getInputs().size() + consumer.getInputs().size() - 1 > kMostInputs)
      return "together they would read more than " + std::to_string(kMostInputs) + " tensors";
    if (size_of(producer) + size_of(consumer) > kMostOps)
      return "together they would be more than " + std::to_string(kMostOps) + " operations";
    Operation *above = row_op(producer), *below = row_op(consumer);
    if (above && below) return "a kernel has one softmax, norm or sum at most";
    mlir::Type wanted = consumer.getResult(0).getType();
    if (above && !fits_after(consumer, made, above)) return "what follows a norm or sum in its kernel can't broadcast";
    if (below) {
      auto position = llvm::find(consumer.getInputs(), made) - consumer.getInputs().begin();
      BlockArgument inside = consumer.getBody().front().getArgument(static_cast<unsigned>(position));
      bool before = used_on_one_side(inside, below, true);
      if (!before && !used_on_one_side(inside, below, false))
        return "its result is needed before and after the softmax, norm or sum";
      if (before) wanted = below->getOperand(0).getType();
      // The kernel walks over a tensor of the row op's own shape, so the ops before it must produce one.
      bool leaves_one = llvm::is_contained(producer.getInputs().getTypes(), wanted);
      for (BlockArgument other : consumer.getBody().front().getArguments())
        leaves_one |= other != inside && other.getType() == wanted && leads_to(other, below);
      if (before && !leaves_one) return "no tensor of the shape that the softmax, norm or sum goes over would be left";
      if (before ? !fits_before(producer, below) : !fits_after(producer, {}, below))
        return "an op beside a norm or sum in its kernel can't broadcast";
    }
    // A producer of another shape would be computed once for each broadcast use. Kernels over rows are written for one element
    // type; a cast joins any other kernel.
    bool rows = above || below;
    if (rows ? made.getType() != wanted : shape_of(made.getType()) != shape_of(wanted))
      return "the results differ in shape or, beside a norm or sum, in element type";
    // Values that depend only on parameters are computed once; they must not be drawn into a step.
    return alone.lookup(producer) == alone.lookup(consumer) ? "" : "one of them depends only on weights and runs once";
  }

  void fuse(nn::FusedOp producer, nn::FusedOp consumer, PatternRewriter& rewriter) const {
    llvm::SetVector<mlir::Value> inputs(producer.getInputs().begin(), producer.getInputs().end());
    for (mlir::Value input : consumer.getInputs())
      if (input.getDefiningOp() != producer) inputs.insert(input);
    auto fused = rewriter.create<nn::FusedOp>(rewriter.getFusedLoc({producer.getLoc(), consumer.getLoc()}),
                                              consumer->getResultTypes(), inputs.getArrayRef());
    Block* body = rewriter.createBlock(&fused.getBody());
    IRMapping map;
    for (mlir::Value input : inputs) map.map(input, body->addArgument(input.getType(), input.getLoc()));
    auto copy = [&](nn::FusedOp from) {
      for (auto [input, argument] : llvm::zip(from.getInputs(), from.getBody().front().getArguments()))
        map.map(argument, map.lookup(input));
      for (Operation& op : from.getBody().front().without_terminator()) rewriter.clone(op, map);
      SmallVector<mlir::Value> values;
      for (mlir::Value value : from.getBody().front().getTerminator()->getOperands()) values.push_back(map.lookup(value));
      return values;
    };
    rewriter.setInsertionPointToEnd(body);
    map.map(producer.getResult(0), copy(producer)[0]);
    rewriter.create<nn::YieldOp>(consumer.getLoc(), copy(consumer));
    take_notes(producer, fused);
    take_notes(consumer, fused);
    take_result(consumer, fused);
    bool alone = alone_.lookup(consumer);
    rewriter.replaceOp(consumer, fused->getResults());
    alone_.erase(consumer);
    if (producer->use_empty()) {
      alone_.erase(producer);
      rewriter.eraseOp(producer);
    }
    alone_[fused] = alone;
  }

 private:
  Alone& alone_;
};

struct NnFuseElementwise : impl::NnFuseElementwiseBase<NnFuseElementwise> {
  using NnFuseElementwiseBase::NnFuseElementwiseBase;

  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) {
      bool fusable = isa<nn::ElementwiseOpInterface>(op) || (nn::is_row_op(op) && !reduces_nothing(op));
      if (fusable && !isa<nn::FusedOp>(op->getParentOp())) ops.push_back(op);
    });
    ir::KnownValues known;
    SmallVector<bool> depends;
    for (Operation* op : ops) depends.push_back(ir::depends_on_parameters_alone(op->getResult(0), known));
    Alone alone;
    for (auto [op, from_parameters] : llvm::zip(ops, depends)) alone[wrap(op)] = from_parameters;
    if (!join) return;
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseProducer>(&getContext(), alone);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) return signalPassFailure();
    getOperation().walk([&](nn::FusedOp consumer) {
      for (mlir::Value input : consumer.getInputs())
        if (auto producer = input.getDefiningOp<nn::FusedOp>())
          note(consumer,
               "not one kernel with " + in_words(producer) + ": " + FuseProducer::obstacle(producer, consumer, alone));
    });
  }
};

}  // namespace
}  // namespace sheaf::passes
