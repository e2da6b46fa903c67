// nn-training-mode: puts batch norm, dropout and leaky ReLUs with drawn slopes into their training form, and lowers the loss.
#include "ir/Nn/Dropout.h"
#include "passes/Arguments.h"
#include "passes/Passes.h"
#include "passes/nn/NnBuilder.h"
#include "passes/nn/Replacement.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

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
      if (isa<nn::BatchNormOp, nn::DropoutOp, nn::LossOp>(op) || (isa<nn::LeakyReluOp>(op) && op->hasAttr(nn::kSlopes)))
        ops.push_back(op);
    });
    for (Operation* op : ops) {
      if (auto norm = dyn_cast<nn::BatchNormOp>(op)) {
        if (failed(train(norm))) return failure();
      } else if (auto dropout = dyn_cast<nn::DropoutOp>(op)) {
        if (failed(train(dropout))) return failure();
      } else if (auto relu = dyn_cast<nn::LeakyReluOp>(op)) {
        train(relu);
      } else {
        train(cast<nn::LossOp>(op));
      }
    }
    return success();
  }

 private:
  /// An attention that drops some of its weights is lowered first: its parts contain a dropout, which is then found like any
  /// other.
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

  /// y with the batch's own statistics; the running ones and the count of batches are assigned.
  LogicalResult train(nn::BatchNormOp op) {
    auto mean = dyn_cast<BlockArgument>(op.getMean());
    if (!mean || mean.getOwner()->getParentOp() != function_) return op.emitError("has running statistics that are no buffer");
    StringRef prefix = function_.getArgAttrOfType<StringAttr>(mean.getArgNumber(), nn::kName).getValue();
    prefix.consume_back("running_mean");
    Replacement with(op);
    auto statistic = type_of(op.getMean());
    auto norm = with.make<nn::BatchNormTrainOp>({op.getY().getType(), statistic, statistic}, op.getX(), op.getWeight(),
                                                op.getBias(), op.getEpsAttr(), DictionaryAttr());
    // Outside of regions there is only the whole batch.
    const bool whole = op->hasAttr(nn::kSynchronized) && op->getParentOfType<nn::DataParallelOp>();
    if (whole) norm->setAttr(nn::kSynchronized, with.builder.getUnitAttr());
    op.getY().replaceAllUsesWith(norm->getResult(0));
    mlir::Value batches = find_argument(function_, "buffer", (prefix + "num_batches_tracked").str()), count;
    if (batches) {
      count = with.make<nn::IncrementOp>(batches.getType(), latest(batches, op))->getResult(0);
      assign(with, batches, count);
    }
    auto momentum = op->getAttrOfType<FloatAttr>(nn::kMomentum);
    const auto dims = dims_but_channels(type_of(op.getX()).getRank());
    mlir::Value inverse =
        with.make<nn::InverseCountOp>(with.scalar(), op.getX(), with.builder.getDenseI64ArrayAttr(dims), whole)->getResult(0);
    auto average = [&](mlir::Value running, mlir::Value batch, mlir::Value inverse_count) {
      assign(with, running,
             with.make<nn::RunningAverageOp>(statistic, latest(running, op), batch, inverse_count,
                                             momentum ? mlir::Value() : count, momentum)
                 ->getResult(0));
    };
    if (assigned_.contains(mean) && assigned_[mean]->getBlock() != op->getBlock())
      return op.emitError("is called in another parallel region too, whose replicas would share its running statistics");
    average(op.getMean(), norm->getResult(1), {});
    average(op.getVar(), norm->getResult(2), inverse);
    op.erase();
    return success();
  }

  /// A buffer as the layers before this call leave it: a batch norm that is called twice continues from its first call's value.
  mlir::Value latest(mlir::Value buffer, Operation* user) {
    nn::AssignOp assign = assigned_.lookup(buffer);
    return assign && assign->getBlock() == user->getBlock() ? assign.getValue() : buffer;
  }

  /// The last value assigned to a buffer stays.
  void assign(Replacement& with, mlir::Value buffer, mlir::Value value) {
    nn::AssignOp& assign = assigned_[buffer];
    if (assign) assign->erase();
    assign = with.make<nn::AssignOp>({}, buffer, value);
  }

  /// The dimensions along which the mask varies; null: all.
  FailureOr<DenseI64ArrayAttr> mask_dims(nn::DropoutOp op) {
    StringRef mask = op.getMask().value_or("");
    const int64_t rank = type_of(op.getX()).getRank(), spatial = op.getSpatialDims().value_or(0);
    Builder builder(op.getContext());
    if (mask.empty() || mask == "alpha") return DenseI64ArrayAttr();
    if (mask == "batch") return builder.getDenseI64ArrayAttr({});
    if (mask == "feature_alpha") {
      if (rank < 2) return op.emitError("expects an input [N, C, …], but it has ") << rank << " dimensions";
      return builder.getDenseI64ArrayAttr({0, 1});
    }
    // With one dimension less than [N, C, …], x is [C, …]; PyTorch's Dropout2d takes it as [N, C, L].
    const int64_t channels = mask == "row" ? 1 : rank == spatial + 2 || spatial == 2 ? 2 : 1;
    if (rank < channels || (mask == "channel" && rank != spatial + 2 && rank != spatial + 1))
      return op.emitError("expects an input with more dimensions than ") << rank;
    return builder.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(channels)));
  }

  /// The stream of numbers belongs to the layer's name, so adding or removing a layer leaves the others' as they are.
  static IntegerAttr stream_of(Operation* op) {
    return Builder(op->getContext()).getI64IntegerAttr(static_cast<int64_t>(llvm::xxh3_64bits(nn::layer_of(op)) & 0xffffffff));
  }

  LogicalResult train(nn::DropoutOp op) {
    if (op.getP().isZero()) {
      op.getY().replaceAllUsesWith(op.getX());
      op.erase();
      return success();
    }
    FailureOr<DenseI64ArrayAttr> dims = mask_dims(op);
    if (failed(dims)) return failure();
    Replacement with(op);
    auto drop = [&](mlir::Value x) {
      return with
          .make<nn::DropoutTrainOp>(x.getType(), x, setting("step"), setting("seed"),
                                    accumulate_ ? setting("first_row") : mlir::Value(), op.getPAttr(), stream_of(op),
                                    with.builder.getI64IntegerAttr(1), *dims)
          ->getResult(0);
    };
    mlir::Value y = op.getMask().value_or("").ends_with("alpha") ? alpha_dropout(with, op, drop) : drop(op.getX());
    op.getY().replaceAllUsesWith(y);
    op.erase();
    return success();
  }

  /// torch.nn.AlphaDropout and FeatureAlphaDropout: a · (x where it is kept, else -αλ of SELU) + b, which preserves a mean of 0 and a variance of 1.
  /// The mask, m, is a dropout of ones: y = a · m · (x + αλ) + (b - a · αλ).
  static mlir::Value alpha_dropout(Replacement& with, nn::DropoutOp op, llvm::function_ref<mlir::Value(mlir::Value)> drop) {
    constexpr double alpha = 1.7580993408473766;
    const double p = op.getP().convertToDouble();
    // With p = 1 nothing is left, as in PyTorch.
    const double a = p < 1 ? 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p)) : 0, b = a * alpha * p;
    RankedTensorType type = type_of(op.getX());
    auto map = [&](mlir::Value x, StringRef function, ArrayRef<double> numbers) {
      return with
          .make<nn::MapOp>(type, ValueRange(x), with.builder.getStringAttr(function),
                           with.builder.getDenseF64ArrayAttr(numbers))
          ->getResult(0);
    };
    mlir::Value mask = drop(map(op.getX(), "power", {0}));
    mlir::Value kept = with.make<nn::MulOp>(type, mask, map(op.getX(), "add", {alpha}))->getResult(0);
    return map(map(kept, "mul", {a * (1 - p)}), "add", {p < 1 ? b - a * alpha : 0});
  }

  /// torch.nn.RReLU: each element has a slope of its own.
  void train(nn::LeakyReluOp op) {
    auto slopes = op->getAttrOfType<DenseF64ArrayAttr>(nn::kSlopes);
    Replacement with(op);
    mlir::Value y =
        with.make<nn::RreluTrainOp>(op.getY().getType(), op.getX(), op.getX(), setting("step"), setting("seed"),
                                    accumulate_ ? setting("first_row") : mlir::Value(), with.builder.getF64FloatAttr(slopes[0]),
                                    with.builder.getF64FloatAttr(slopes[1]), stream_of(op), with.builder.getI64IntegerAttr(1))
            ->getResult(0);
    op.getY().replaceAllUsesWith(y);
    op.erase();
  }

  /// Lowers the loss to its parts; its divisor, if there is one, becomes a further result.
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
  DenseMap<mlir::Value, nn::AssignOp> assigned_;  ///< by buffer
};

struct NnTrainingMode : impl::NnTrainingModeBase<NnTrainingMode> {
  using NnTrainingModeBase::NnTrainingModeBase;
  void runOnOperation() override {
    if (!getOperation().isExternal() && failed(TrainingMode(getOperation(), accumulate).run())) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
