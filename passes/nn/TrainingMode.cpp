// nn-training-mode: batch norm and dropout as they are in training, and the loss taken apart.
#include "ir/Nn/Dropout.h"
#include "passes/Arguments.h"
#include "passes/Passes.h"
#include "passes/nn/NnBuilder.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/xxhash.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNTRAININGMODE
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

RankedTensorType type_of(mlir::Value value) { return cast<RankedTensorType>(value.getType()); }

/// Builds nn ops in place of one op, which they take the layer's type and place from.
class Replacement {
 public:
  explicit Replacement(Operation* op) : builder(op), loc(op->getLoc()), op_(op) {}

  template <typename Op, typename... Args>
  Op make(TypeRange types, Args&&... args) {
    auto made = builder.create<Op>(loc, types, std::forward<Args>(args)...);
    for (StringRef name : {nn::kType, nn::kDevice})
      if (mlir::Attribute attribute = op_->getAttr(name)) made->setAttr(name, attribute);
    return made;
  }
  RankedTensorType scalar() { return RankedTensorType::get({}, builder.getF32Type()); }

  OpBuilder builder;
  mlir::Location loc;

 private:
  Operation* op_;
};

class TrainingMode {
 public:
  explicit TrainingMode(func::FuncOp function) : function_(function) {}

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
        take_apart(cast<nn::LossOp>(op));
      }
    }
    return success();
  }

 private:
  /// An attention that drops some of its weights: its parts have a dropout among them, which is then found as any other.
  void take_attentions_apart() {
    SmallVector<nn::MultiheadAttentionOp> attentions;
    function_.walk([&](nn::MultiheadAttentionOp op) {
      if (op->hasAttr(nn::kDropout)) attentions.push_back(op);
    });
    for (nn::MultiheadAttentionOp op : attentions) {
      mlir::Attribute type = op->getAttr(nn::kType), device = op->getAttr(nn::kDevice);
      Operation *before = op->getPrevNode(), *after = op->getNextNode();
      IRRewriter rewriter(op);
      lower_attention(op, rewriter);
      for (Operation* part = before ? before->getNextNode() : &after->getBlock()->front(); part != after; part = part->getNextNode()) {
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
    mlir::Value inverse = with.make<nn::InverseCountOp>(with.scalar(), op.getX(), with.builder.getDenseI64ArrayAttr(dims))->getResult(0);
    auto assign = [&](mlir::Value running, mlir::Value batch, mlir::Value inverse_count) {
      mlir::Value average = with.make<nn::RunningAverageOp>(statistic, running, batch, inverse_count,
                                                            momentum ? mlir::Value() : count, momentum)->getResult(0);
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
    auto dropout = with.make<nn::DropoutTrainOp>(op.getY().getType(), op.getX(), setting("step"), setting("seed"), op.getPAttr(),
                                                 with.builder.getI64IntegerAttr(stream));
    op.getY().replaceAllUsesWith(dropout->getResult(0));
    op.erase();
  }

  static SmallVector<int64_t> all_dims(mlir::Value value) {
    return llvm::to_vector(llvm::seq<int64_t>(0, type_of(value).getRank()));
  }

  void take_apart(nn::LossOp op) {
    Replacement with(op);
    StringRef kind = op.getKind();
    auto reduction = op.getArguments().getAs<StringAttr>("reduction");
    bool mean = !reduction || reduction.getValue() == "mean";
    mlir::Value loss = kind == "CrossEntropyLoss" || kind == "NLLLoss" ? classification(op, with, mean)
                                                                       : elementwise(op, with, mean);
    op.getY().replaceAllUsesWith(loss);
    op.erase();
  }

  mlir::Value elementwise(nn::LossOp op, Replacement& with, bool mean) {
    StringRef kind = op.getKind() == "MSELoss"  ? "mse"
                     : op.getKind() == "L1Loss" ? "l1"
                     : op.getKind() == "BCELoss" ? "bce"
                                                 : "bce_with_logits";
    mlir::Value each = with.make<nn::ElementwiseLossOp>(op.getX().getType(), op.getX(), op.getTarget(), with.builder.getStringAttr(kind))->getResult(0);
    return mean ? average(each, with) : sum(each, with);
  }

  static mlir::Value sum(mlir::Value x, Replacement& with) {
    return with.make<nn::SumOp>(with.scalar(), x, with.builder.getDenseI64ArrayAttr(all_dims(x)), with.builder.getBoolAttr(false))->getResult(0);
  }
  static mlir::Value average(mlir::Value x, Replacement& with) {
    if (type_of(x).getRank() == 0) return x;
    return with.make<nn::MeanOp>(with.scalar(), x, with.builder.getDenseI64ArrayAttr(all_dims(x)), with.builder.getBoolAttr(false))->getResult(0);
  }

  /// -Σ q·log p, over the number of rows that count where it is a mean (torch.nn.functional.cross_entropy).
  mlir::Value classification(nn::LossOp op, Replacement& with, bool mean) {
    Builder& b = with.builder;
    mlir::Value scores = op.getX();
    RankedTensorType type = type_of(scores);
    int64_t dim = type.getRank() > 1 ? 1 : 0;
    auto arguments = op.getArguments();
    auto ignored = arguments.getAs<IntegerAttr>("ignore_index");
    auto smoothing = arguments.getAs<FloatAttr>("label_smoothing");
    auto weights = [&](double epsilon) -> mlir::Value {
      return with.make<nn::TargetWeightsOp>(type, op.getTarget(), b.getI64IntegerAttr(type.getDimSize(dim)),
                                            b.getI64IntegerAttr(ignored ? ignored.getInt() : -100), b.getF64FloatAttr(epsilon))->getResult(0);
    };
    mlir::Value log = scores;
    if (op.getKind() == "CrossEntropyLoss")
      log = with.make<nn::SoftmaxOp>(type, scores, b.getI64IntegerAttr(dim), b.getBoolAttr(true))->getResult(0);
    mlir::Value each = with.make<nn::MulOp>(type, weights(smoothing ? smoothing.getValueAsDouble() : 0), log)->getResult(0);
    mlir::Value total = with.make<nn::ScaleOp>(with.scalar(), sum(each, with), b.getF64FloatAttr(-1))->getResult(0);
    if (!mean) return total;
    return with.make<nn::DivOp>(with.scalar(), total, sum(weights(0), with))->getResult(0);
  }

  func::FuncOp function_;
};

struct NnTrainingMode : impl::NnTrainingModeBase<NnTrainingMode> {
  void runOnOperation() override {
    if (!getOperation().isExternal() && failed(TrainingMode(getOperation()).run())) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
