// nn-synchronize: gives a SyncBatchNorm in a parallel region the statistics of the whole batch.
#include "passes/Passes.h"
#include "passes/nn/Replacement.h"

#include "llvm/ADT/Sequence.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNSYNCHRONIZE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Builds a batch norm's arithmetic, whose sums go over all replicas. The deviations from the mean are the only tensor of x's
/// size that the backward pass needs.
class SynchronizedNorm {
 public:
  explicit SynchronizedNorm(nn::BatchNormTrainOp op) : op_(op), with_(op), f32_(with_.builder.getF32Type()) {
    type_ = RankedTensorType::get(type_of(op.getX()).getShape(), f32_);
    statistic_ = RankedTensorType::get({type_.getDimSize(1)}, f32_);
  }

  void build() {
    mlir::Value x = with_.cast_to(op_.getX(), f32_);
    // A whole batch's count depends on sizes alone, so nothing has to be sent for it.
    const auto dims = with_.builder.getDenseI64ArrayAttr(dims_but_channels(type_.getRank()));
    mlir::Value inverse = with_.make<nn::InverseCountOp>(with_.scalar(), x, dims, /*whole=*/true)->getResult(0);
    mlir::Value mean = make<nn::MulOp>(statistic_, sum_of_all(x), inverse);
    mlir::Value deviation = make<nn::SubOp>(type_, x, along_channels(mean, x));
    // A second pass over x: the difference of two large sums would lose a small variance's digits.
    mlir::Value var = make<nn::MulOp>(statistic_, sum_of_all(make<nn::MulOp>(type_, deviation, deviation)), inverse);
    mlir::Value scale = make<nn::RsqrtOp>(statistic_, var, op_.getEpsAttr());
    if (op_.getWeight()) scale = make<nn::MulOp>(statistic_, scale, op_.getWeight());
    mlir::Value y = make<nn::MulOp>(type_, deviation, along_channels(scale, deviation));
    if (op_.getBias()) y = make<nn::AddOp>(type_, y, along_channels(op_.getBias(), deviation));
    op_.getY().replaceAllUsesWith(with_.cast_to(y, type_of(op_.getY()).getElementType()));
    op_.getMean().replaceAllUsesWith(mean);
    op_.getVar().replaceAllUsesWith(var);
    op_.erase();
  }

 private:
  template <typename Op, typename... Args>
  mlir::Value make(mlir::Type type, Args&&... args) {
    return with_.make<Op>(type, std::forward<Args>(args)...)->getResult(0);
  }

  mlir::Value along_channels(mlir::Value statistic, mlir::Value like) {
    return make<nn::BroadcastOp>(type_, statistic, like, with_.builder.getDenseI64ArrayAttr({1}));
  }

  /// Σ over all dimensions but the channels', on all replicas.
  mlir::Value sum_of_all(mlir::Value x) {
    Builder& b = with_.builder;
    ArrayRef<int64_t> shape = type_.getShape();
    auto within = llvm::to_vector(llvm::seq<int64_t>(2, type_.getRank()));
    if (!within.empty())
      x = make<nn::SumOp>(RankedTensorType::get(shape.take_front(2), f32_), x, b.getDenseI64ArrayAttr(within),
                          b.getBoolAttr(false));
    x = make<nn::SumOp>(statistic_, x, b.getDenseI64ArrayAttr({0}), b.getBoolAttr(false));
    return make<nn::SumOverReplicasOp>(statistic_, x);
  }

  nn::BatchNormTrainOp op_;
  Replacement with_;
  mlir::Type f32_;
  RankedTensorType type_, statistic_;  ///< of x, and of a number for each channel, both in f32
};

struct NnSynchronize : impl::NnSynchronizeBase<NnSynchronize> {
  void runOnOperation() override {
    SmallVector<nn::BatchNormTrainOp> norms;
    getOperation().walk([&](nn::BatchNormTrainOp op) {
      if (!op->hasAttr(nn::kSynchronized)) return;
      // Outside of regions there is only the whole batch.
      if (op->getParentOfType<nn::DataParallelOp>()) norms.push_back(op);
      else op->removeAttr(nn::kSynchronized);
    });
    for (nn::BatchNormTrainOp op : norms) SynchronizedNorm(op).build();
  }
};

}  // namespace
}  // namespace sheaf::passes
