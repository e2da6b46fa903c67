// nn-fuse-library: moves a residual sum and an activation into the library call before them.
#include "passes/Passes.h"
#include "passes/nn/Notes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNFUSELIBRARY
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

const char* const kNeeded = "something else needs the result before it";

/// Whether a call's result has other users than one, or is treated as if it had (nn.apart).
bool stands_alone(Operation* call) { return !call->hasOneUse() || call->hasAttr(nn::kApart); }

/// Why an activation of `call`'s result can't become its post-op; empty if it can.
template <typename Op>
std::string obstacle_to_activation(Op call) {
  if (stands_alone(call)) return kNeeded;
  return call.getActivation() ? "it has an activation already" : "";
}

/// Why the sum of `call`'s result and `other` can't become a post-op; empty if it can.
template <typename Op>
std::string obstacle_to_residual(Op call, mlir::Value other) {
  if (stands_alone(call)) return kNeeded;
  if (call.getActivation()) return "its activation comes before the sum";
  if (call.getResidual()) return "it has a residual already";
  return other.getType() == call.getY().getType() ? "" : "a sum that broadcasts is no residual";
}

/// activation(call(x)) → call(x) with the activation.
template <typename Op>
struct FuseActivation : RewritePattern {
  explicit FuseActivation(MLIRContext* context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation* op, PatternRewriter& rewriter) const override {
    DictionaryAttr activation = nn::activation_of(op);
    if (!activation) return failure();
    auto call = op->getOperand(0).getDefiningOp<Op>();
    if (!call || !obstacle_to_activation(call).empty()) return failure();
    rewriter.modifyOpInPlace(call, [&] {
      call.setActivationAttr(activation);
      call->setLoc(rewriter.getFusedLoc({call.getLoc(), op->getLoc()}));
      take_result(op, call);
      note(call, "the activation of " + in_words(op) + " is part of the call: no tensor is between them");
    });
    rewriter.replaceOp(op, call.getY());
    return success();
  }
};

/// add(call(x), r) → call(x) with residual r, at the position of the addition, where r is known.
template <typename Op>
struct FuseResidual : OpRewritePattern<nn::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(nn::AddOp add, PatternRewriter& rewriter) const override {
    for (auto [from, other] : {std::pair(add.getA(), add.getB()), std::pair(add.getB(), add.getA())}) {
      auto call = from.getDefiningOp<Op>();
      if (!call || !obstacle_to_residual(call, other).empty()) continue;
      Operation* fused = rewriter.clone(*call);
      fused->setLoc(rewriter.getFusedLoc({call.getLoc(), add.getLoc()}));
      rewriter.modifyOpInPlace(fused, [&, other = other] { cast<Op>(fused).getResidualMutable().assign(other); });
      take_result(add, fused);
      note(fused, "the sum of " + in_words(add) + " is part of the call: it reads the other summand");
      rewriter.replaceOp(add, fused->getResults());
      rewriter.eraseOp(call);
      return success();
    }
    return failure();
  }
};

/// Notes on an activation or sum after a library call why it isn't part of the call.
template <typename Op>
void explain_rest(Operation* op) {
  for (auto [position, operand] : llvm::enumerate(op->getOperands())) {
    auto call = operand.getDefiningOp<Op>();
    if (!call) continue;
    std::string why;
    if (nn::activation_of(op)) why = obstacle_to_activation(call);
    else if constexpr (!std::is_same_v<Op, nn::ConvTransposeOp>) {
      if (auto add = dyn_cast<nn::AddOp>(op)) why = obstacle_to_residual(call, add->getOperand(position == 0 ? 1 : 0));
    }
    if (!why.empty()) note(op, "not part of the call of " + in_words(call) + ": " + why);
  }
}

struct NnFuseLibrary : impl::NnFuseLibraryBase<NnFuseLibrary> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FuseActivation<nn::ConvOp>, FuseActivation<nn::ConvTransposeOp>, FuseActivation<nn::LinearOp>,
                 FuseResidual<nn::ConvOp>, FuseResidual<nn::LinearOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) return signalPassFailure();
    getOperation().walk([](Operation* op) {
      explain_rest<nn::ConvOp>(op);
      explain_rest<nn::ConvTransposeOp>(op);
      explain_rest<nn::LinearOp>(op);
    });
  }
};

}  // namespace
}  // namespace sheaf::passes
