// Pass sheaf-fast-math: lets LLVM vectorise sums and fuse multiply-adds.
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

struct FastMathPass : PassWrapper<FastMathPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FastMathPass)

  StringRef getArgument() const final { return "sheaf-fast-math"; }
  StringRef getDescription() const final {
    return "Set fast-math flags reassoc, nsz and contract where none are set (never nnan or ninf)";
  }

  void runOnOperation() final {
    using Flags = arith::FastMathFlags;
    auto flags = arith::FastMathFlagsAttr::get(&getContext(), Flags::reassoc | Flags::nsz | Flags::contract);
    getOperation()->walk([&](arith::ArithFastMathInterface op) {
      // A body that must not be reordered says so by flags of its own, such as contract alone. On conversions
      // between widths the attribute is optional, and of no use.
      auto present = op.getFastMathFlagsAttr();
      if (present && present.getValue() == Flags::none) op->setAttr(op.getFastMathAttrName(), flags);
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_fast_math_pass() { return std::make_unique<FastMathPass>(); }

}  // namespace sheaf::kernels
