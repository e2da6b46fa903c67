// Pass sheaf-fast-math: lets LLVM vectorise sums and fuse multiply-adds.
//
// A GPU kernel over elements appears several times in its text: for vectors, for the elements after the last whole vector, and
// again in K_many; a kernel over rows by vectors has each loop's body for every element of a vector. LLVM hoists and folds
// differently in each, so if it were free to reassociate, an element's bits would depend on its position in the tensor, and a
// share of a parameter would be updated differently from the whole. Such kernels get no reassoc.
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
    return "Set fast-math flags reassoc (unless a GPU's text has the kernel's elements several times), nsz and contract where "
           "none "
           "are set (never nnan or ninf)";
  }

  void runOnOperation() final {
    using Flags = arith::FastMathFlags;
    const Flags given = Flags::nsz | Flags::contract;
    auto flags = arith::FastMathFlagsAttr::get(&getContext(),
                                               getOperation()->hasAttr(repeated_attribute) ? given : given | Flags::reassoc);
    getOperation()->walk([&](arith::ArithFastMathInterface op) {
      // A body that must not be reordered sets its own flags, such as only contract. On conversions between widths the
      // attribute is optional and has no effect.
      auto present = op.getFastMathFlagsAttr();
      if (present && present.getValue() == Flags::none) op->setAttr(op.getFastMathAttrName(), flags);
    });
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_fast_math_pass() { return std::make_unique<FastMathPass>(); }

}  // namespace sheaf::kernels
