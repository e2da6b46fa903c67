// Pass sheaf-expand-math: expands exp, log, tanh, erf and their kin into polynomials, so that loops over them vectorise without
// a maths library.
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

/// MLIR's polynomials for tanh and erf clamp their argument, which turns a NaN into a number. This preserves it: f(x) becomes
/// isnan(x) ? x : f(x).
template <typename Op>
void keep_nan(func::FuncOp function) {
  function.walk([](Op op) {
    OpBuilder builder(op);
    builder.setInsertionPointAfter(op);
    Value x = op.getOperand();
    Value nan = builder.create<arith::CmpFOp>(op.getLoc(), arith::CmpFPredicate::UNO, x, x);
    auto select = builder.create<arith::SelectOp>(op.getLoc(), nan, x, op.getResult());
    op.getResult().replaceAllUsesExcept(select, select);
  });
}

struct ExpandMathPass : PassWrapper<ExpandMathPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMathPass)

  StringRef getArgument() const final { return "sheaf-expand-math"; }
  StringRef getDescription() const final { return "Replace math functions that have no instruction by polynomials"; }
  void getDependentDialects(DialectRegistry& registry) const final {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }

  void runOnOperation() final {
    bool any = false;
    getOperation().walk([&](Operation* op) { any |= isa_and_nonnull<math::MathDialect>(op->getDialect()); });
    if (!any) return;  // true of most copies; the driver's set-up costs more than this check
    keep_nan<math::TanhOp>(getOperation());
    keep_nan<math::ErfOp>(getOperation());
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_expand_math_pass() { return std::make_unique<ExpandMathPass>(); }

}  // namespace sheaf::kernels
