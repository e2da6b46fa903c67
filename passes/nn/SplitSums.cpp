// nn-split-sums: long sums to one number in two steps.
#include "passes/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNSPLITSUMS
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Elements that a block of 1024 threads adds up in about the time of a launch: with 64 bytes on their way for each thread and 700 ns until
/// they are there, 93 GB/s. A size that a run determines counts as 256.
constexpr int64_t kShort = 65536, kTypical = 256;
/// Elements of a row that are worth a step of their own.
constexpr int64_t kRow = 32;

int64_t typical(int64_t size) { return ShapedType::isDynamic(size) ? kTypical : size; }

int64_t elements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= typical(size);
  return count;
}

/// Rows are along the outermost dimension of more than one element.
template <typename Op>
struct SplitSum : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter& rewriter) const override {
    auto x = cast<RankedTensorType>(op.getX().getType()), y = cast<RankedTensorType>(op.getY().getType());
    const int64_t rank = x.getRank();
    if (static_cast<int64_t>(op.getDims().size()) != rank || !y.getElementType().isF32()) return failure();
    int64_t outer = 0;
    while (outer < rank && x.getDimSize(outer) == 1) ++outer;
    if (outer == rank || elements(x.getShape()) <= kShort) return failure();
    if (elements(x.getShape().drop_front(static_cast<size_t>(outer) + 1)) < kRow) return failure();
    SmallVector<int64_t> shape(static_cast<size_t>(rank), 1), rest;
    shape[static_cast<size_t>(outer)] = x.getDimSize(outer);
    for (int64_t dim = outer + 1; dim < rank; ++dim) rest.push_back(dim);
    auto rows = cast<Op>(rewriter.clone(*op));
    rows.setDims(rest);
    rows.setKeepdim(true);
    rows.getY().setType(RankedTensorType::get(shape, y.getElementType()));
    IRMapping map;
    map.map(op.getX(), rows.getY());
    auto whole = cast<Op>(rewriter.clone(*op, map));
    rewriter.replaceOp(op, whole.getY());
    return success();
  }
};

struct NnSplitSums : impl::NnSplitSumsBase<NnSplitSums> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitSum<nn::MeanOp>, SplitSum<nn::SumOp>, SplitSum<nn::ExtremumOp>>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns)))) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
