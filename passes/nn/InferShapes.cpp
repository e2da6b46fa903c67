// nn-infer-shapes: gives every value its ranked type.
#include "ir/Analysis/ShapeAnalysis.h"
#include "passes/Passes.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNINFERSHAPES
#include "passes/Passes.h.inc"

namespace {
struct NnInferShapes : impl::NnInferShapesBase<NnInferShapes> {
  void runOnOperation() override {
    if (failed(ir::ShapeAnalysis(/*refine_types=*/true).run(getOperation()))) signalPassFailure();
  }
};
}  // namespace
}  // namespace sheaf::passes
