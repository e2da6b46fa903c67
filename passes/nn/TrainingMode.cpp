// nn-training-mode: batch norm and dropout as they are in training, and the loss taken apart.
#include "ir/Nn/Dropout.h"
#include "passes/Arguments.h"
#include "passes/Passes.h"
#include "passes/nn/NnBuilder.h"
#include "passes/nn/Replacement.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/xxhash.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNTRAININGMODE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

class TrainingMode {
 public:
  TrainingMode(func::FuncOp function, bool accumulate) : function_(function), accumulate_(accumulate) {}

  LogicalResult run() {
    take_attentions_apart();
    SmallVector<Operation*> ops;
    function_.walk([&](Operation* op) {
      if (isa<nn::BatchNormOp, nn::DropoutOp, nn::LossOp>(op)) ops.push_back(op);
    });
    for (Operation* op : ops) {
      if (auto norm = dyn_cast<nn::BatchNormOp>(op)) {
        if (failed(train(norm))) return failure();
      } else if (auto dropout = dyn_cast<nn::DropoutOp>(op)) {
        train(dropout);
      } else {
        train(cast<nn::LossOp>(op));
      }
    }
    return success();
  }

 private:
  /// An attention that drops some of its weights: its parts have a dropout among them, which is then found as any other.
  void take_attentions_apart() {
    SmallVector<Operation*> attentions;
    function_.walk([&](Operation* op) {
      if (is_attention(op) && op->hasAttr(nn::kDropout)) attentions.push_back(op);
    });
    for (Operation* op : attentions) {
      mlir::Attribute type = op->getAttr(nn::kType), device = op->getAttr(nn::kDevice);
      Operation *before = op->getPrevNode(), *after = op->getNextNode();
      IRRewriter rewriter(op);
      lower_attention(op, rewriter);
      for (Operation* part = before ? before->getNextNode() : &after->getBlock()->front(); part != after;
           part = part->getNextNode()) {
        if (type && isa<nn::DropoutOp>(part)) part->setAttr(nn::kType, type);
        if (device) part->setAttr(nn::kDevice, device);
      }
    }
  }

  /// A 0-dimensional int64 setting, an argument of the program.
  mlir::Value setting(StringRef name) {
    if (BlockArgument known = find_argument(function_, "setting", name)) return known;
    return add_argument(function_, RankedTensorType::get({}, IntegerType::get(function_.getContext(), 64)), "setting", name);
  }

  /// y with the batch's own statistics; the running ones, and the count of batches, are assigned.
  LogicalResult train(nn::BatchNormOp op) {
    auto mean = dyn_cast<BlockArgument>(op.getMean());
    if (!mean || mean.getOwner()->getParentOp() != function_) return op.emitError("has running statistics that are no buffer");
    StringRef prefix = function_.getArgAttrOfType<StringAttr>(mean.getArgNumber(), nn::kName).getValue();
    prefix.consume_back("running_mean");
    Replacement with(op);
    auto statistic = type_of(op.getMean());
    auto norm = with.make<nn::BatchNormTrainOp>({op.getY().getType(), statistic, statistic}, op.getX(), op.getWeight(),
                                                op.getBias(), op.getEpsAttr(), DictionaryAttr());
    op.getY().replaceAllUsesWith(norm->getResult(0));
    mlir::Value batches = find_argument(function_, "buffer", (prefix + "num_batches_tracked").str()), count;
    if (batches) {
      count = with.make<nn::IncrementOp>(batches.getType(), batches)->getResult(0);
      with.make<nn::AssignOp>({}, batches, count);
    }
    auto momentum = op->getAttrOfType<FloatAttr>(nn::kMomentum);
    SmallVector<int64_t> dims;
    for (int64_t i : llvm::seq<int64_t>(type_of(op.getX()).getRank()))
      if (i != 1) dims.push_back(i);
    mlir::Value inverse =
        with.make<nn::InverseCountOp>(with.scalar(), op.getX(), with.builder.getDenseI64ArrayAttr(dims))->getResult(0);
    auto assign = [&](mlir::Value running, mlir::Value batch, mlir::Value inverse_count) {
      mlir::Value average =
          with.make<nn::RunningAverageOp>(statistic, running, batch, inverse_count, momentum ? mlir::Value() : count, momentum)
              ->getResult(0);
      with.make<nn::AssignOp>({}, running, average);
    };
    assign(op.getMean(), norm->getResult(1), {});
    assign(op.getVar(), norm->getResult(2), inverse);
    op.erase();
    return success();
  }

  void train(nn::DropoutOp op) {
    if (op.getP().isZero()) {
      op.getY().replaceAllUsesWith(op.getX());
      op.erase();
      return;
    }
    Replacement with(op);
    // The stream belongs to the layer's name, so a layer more or less leaves the others' masks as they are.
    auto stream = static_cast<int64_t>(llvm::xxh3_64bits(nn::layer_of(op)) & 0xffffffff);
    auto dropout = with.make<nn::DropoutTrainOp>(op.getY().getType(), op.getX(), setting("step"), setting("seed"),
                                                 accumulate_ ? setting("first_row") : mlir::Value(), op.getPAttr(),
                                                 with.builder.getI64IntegerAttr(stream), with.builder.getI64IntegerAttr(1));
    op.getY().replaceAllUsesWith(dropout->getResult(0));
    op.erase();
  }

  /// The loss becomes its parts; what it is to be divided by, if anything, a further result.
  void train(nn::LossOp op) {
    LossParts parts = take_apart(op, accumulate_);
    op.getY().replaceAllUsesWith(parts.loss);
    op.erase();
    if (!parts.divisor) return;
    Operation* end = function_.getBody().front().getTerminator();
    end->insertOperands(end->getNumOperands(), parts.divisor);
    function_.setType(FunctionType::get(function_.getContext(), function_.getArgumentTypes(), end->getOperandTypes()));
    SmallVector<mlir::Attribute> names(function_->getAttrOfType<ArrayAttr>(nn::kOutputs).getValue());
    names.push_back(StringAttr::get(function_.getContext(), nn::kDivisor));
    function_->setAttr(nn::kOutputs, ArrayAttr::get(function_.getContext(), names));
  }

  func::FuncOp function_;
  bool accumulate_;
};

struct NnTrainingMode : impl::NnTrainingModeBase<NnTrainingMode> {
  using NnTrainingModeBase::NnTrainingModeBase;
  void runOnOperation() override {
    if (!getOperation().isExternal() && failed(TrainingMode(getOperation(), accumulate).run())) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
