// nn-fuse-elementwise: chains of element-wise ops become one kernel each.
#include "ir/ParameterAnalysis.h"
#include "passes/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFUSEELEMENTWISE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// A kernel takes its buffers in an array, so this bounds only the pressure on registers.
constexpr unsigned kMostInputs = 16;

/// An nn.fused around one element-wise op.
void wrap(Operation* op) {
  OpBuilder builder(op);
  llvm::SetVector<mlir::Value> inputs(op->operand_begin(), op->operand_end());
  auto fused = builder.create<nn::FusedOp>(op->getLoc(), op->getResultTypes(), inputs.getArrayRef());
  Block* body = builder.createBlock(&fused.getBody());
  IRMapping map;
  for (mlir::Value input : inputs) map.map(input, body->addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(body);
  Operation* clone = builder.clone(*op, map);
  builder.create<nn::YieldOp>(op->getLoc(), clone->getResults());
  op->replaceAllUsesWith(fused->getResults());
  op->erase();
}

/// A fused producer whose result only `consumer` uses moves into it.
struct FuseProducer : OpRewritePattern<nn::FusedOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::FusedOp consumer, PatternRewriter& rewriter) const override {
    for (mlir::Value input : consumer.getInputs()) {
      auto producer = input.getDefiningOp<nn::FusedOp>();
      if (!producer || !can_fuse(producer, consumer)) continue;
      fuse(producer, consumer, rewriter);
      return success();
    }
    return failure();
  }

  static bool can_fuse(nn::FusedOp producer, nn::FusedOp consumer) {
    // With another shape the producer would be computed once for each broadcast use.
    if (producer->getNumResults() != 1 || !producer->hasOneUse()) return false;
    if (producer.getResult(0).getType() != consumer.getResult(0).getType()) return false;
    if (producer.getInputs().size() + consumer.getInputs().size() - 1 > kMostInputs) return false;
    // What depends on parameters alone is computed once; it must not be drawn into a step.
    return ir::depends_on_parameters_alone(producer.getResult(0)) == ir::depends_on_parameters_alone(consumer.getResult(0));
  }

  static void fuse(nn::FusedOp producer, nn::FusedOp consumer, PatternRewriter& rewriter) {
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
    rewriter.replaceOp(consumer, fused->getResults());
    rewriter.eraseOp(producer);
  }
};

struct NnFuseElementwise : impl::NnFuseElementwiseBase<NnFuseElementwise> {
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](nn::ElementwiseOpInterface op) {
      if (!isa<nn::FusedOp>(op->getParentOp())) ops.push_back(op);
    });
    llvm::for_each(ops, wrap);
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseProducer>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
