// nn-set-precision: sets the arithmetic of each layer and inserts the casts it needs. The policy is torch.autocast's.
#include "ir/ElementFunctions.h"
#include "passes/Passes.h"
#include "passes/nn/NnBuilder.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_NNSETPRECISION
#include "passes/Passes.h.inc"

using namespace mlir;

namespace {

Type element_of(mlir::Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }
bool is_float(mlir::Value value) { return isa<FloatType>(element_of(value)); }
bool is_half(mlir::Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<BFloat16Type, Float16Type>(tensor.getElementType());
}

void set_element(mlir::Value value, mlir::Type element) {
  value.setType(RankedTensorType::get(cast<RankedTensorType>(value.getType()).getShape(), element));
}

class Precision {
 public:
  Precision(func::FuncOp function, FloatType narrow, StringRef name) : function_(function), narrow_(narrow), name_(name) {}

  LogicalResult run() {
    while (take_attentions_apart()) {
    }
    Block& body = function_.getBody().front();
    if (failed(visit(body))) return failure();
    // The program's results keep their type.
    Operation* end = body.getTerminator();
    for (OpOperand& output : end->getOpOperands()) {
      mlir::Type wanted = function_.getResultTypes()[output.getOperandNumber()];
      if (output.get().getType() != wanted) output.set(cast_output(end, output.get(), wanted));
    }
    return success();
  }

 private:
  /// The parts of an attention differ in their arithmetic: products are narrow, the softmax isn't. Returns whether there was
  /// one: a long attention has an attention on projected values among its parts.
  bool take_attentions_apart() {
    SmallVector<Operation*> attentions;
    function_.walk([&](Operation* op) {
      if (is_attention(op)) attentions.push_back(op);
    });
    for (Operation* op : attentions) {
      mlir::Attribute device = op->getAttr(nn::kDevice), reason = op->getAttr(nn::kReason);
      Block* block = op->getBlock();
      Operation *before = op->getPrevNode(), *after = op->getNextNode();
      IRRewriter rewriter(op);
      lower_attention(op, rewriter);
      for (Operation* part = before ? before->getNextNode() : &block->front(); part != after; part = part->getNextNode()) {
        if (device) part->setAttr(nn::kDevice, device);
        if (reason) part->setAttr(nn::kReason, reason);
      }
    }
    return !attentions.empty();
  }

  LogicalResult visit(Block& block) {
    casts_.clear();
    for (Operation& op : llvm::make_early_inc_range(block.without_terminator())) {
      if (auto parallel = dyn_cast<nn::DataParallelOp>(op)) {
        if (failed(visit_region(parallel))) return failure();
      } else if (failed(visit(op))) {
        return failure();
      }
    }
    return success();
  }

  LogicalResult visit_region(nn::DataParallelOp parallel) {
    Block& body = parallel.getBody().front();
    for (auto [input, argument] : llvm::zip(parallel.getInputs(), body.getArguments()))
      set_element(argument, element_of(input));
    auto outside = std::move(casts_);
    if (failed(visit(body))) return failure();
    casts_ = std::move(outside);
    for (auto [output, value] : llvm::zip(parallel.getOutputs(), body.getTerminator()->getOperands()))
      set_element(output, element_of(value));
    return success();
  }

  LogicalResult visit(Operation& op) {
    cast_operands(op);
    auto shaped = dyn_cast<nn::ShapeOpInterface>(op);
    if (!shaped) return success();
    SmallVector<ir::TensorShape> operands, results;
    for (mlir::Value operand : op.getOperands()) operands.push_back(ir::shape_of(cast<RankedTensorType>(operand.getType())));
    if (failed(shaped.inferShapes(operands, results))) return failure();
    for (auto [result, shape] : llvm::zip(op.getResults(), results)) set_element(result, shape.element);
    return success();
  }

  void cast_operands(Operation& op) {
    mlir::Type wide = Float32Type::get(op.getContext());
    if (isa<nn::LinearOp, nn::ConvOp, nn::ConvTransposeOp, nn::MatMulOp>(op)) {
      // x and weight. The bias is added to the sum, which is f32.
      mlir::Type product = sums_nothing(op) ? wide : mlir::Type(narrow_);
      for (unsigned i : {0u, 1u}) cast_operand(op.getOpOperand(i), product);
      return;
    }
    // For values computed in f32, a half is only a storage format.
    bool moves = isa<nn::ReshapeOp, nn::FlattenOp, nn::PermuteOp, nn::SelectOp, nn::SliceOp, nn::ConcatOp, nn::PadOp,
                     nn::IdentityOp, nn::DropoutOp, nn::ExpandOp, nn::CastOp, nn::PrintOp, nn::StridedSliceOp, nn::SplitOp,
                     nn::RollOp, nn::FlipOp, nn::BorderOp, nn::UnsqueezeOp, nn::SqueezeOp, nn::UnflattenOp, nn::PixelShuffleOp,
                     nn::PixelUnshuffleOp, nn::ChannelShuffleOp>(op);
    bool sums = narrow_ == wide ? !moves
                                : isa<nn::SoftmaxOp, nn::LayerNormOp, nn::GroupNormOp, nn::SumOp, nn::MeanOp, nn::LossOp,
                                      nn::ExpOp, nn::DivOp, nn::RsqrtOp, nn::LstmOp, nn::GruOp, nn::RnnOp, nn::RmsNormOp,
                                      nn::LocalResponseNormOp, nn::VarOp, nn::CumSumOp, nn::ScanOp, nn::MaskScoresOp,
                                      nn::UpsampleOp, nn::IndexSelectOp, nn::GatherElementsOp, nn::ScatterElementsOp>(op);
    if (auto map = dyn_cast<nn::MapOp>(op); map && narrow_ != wide)
      if (const ir::ElementFunction* function = ir::find_element_function(map.getFunction())) sums = function->wide;
    // A batch norm's statistics and parameters are f32 beside an x of any type, and its kernel takes them so.
    bool mixed = narrow_ != wide && isa<nn::BatchNormOp, nn::BatchNormTrainOp>(op);
    if (mixed || isa<nn::PrintOp>(op)) return;
    bool differ = llvm::any_of(op.getOperands(), [&](mlir::Value x) { return is_float(x) && element_of(x) == wide; });
    for (OpOperand& operand : op.getOpOperands())
      if (is_float(operand.get()) && (sums || differ)) cast_operand(operand, wide);
  }

  /// A layer without input features: its result is its bias, and no library is called.
  static bool sums_nothing(Operation& op) {
    ArrayRef<int64_t> x = NnBuilder::shape(op.getOperand(0));
    return isa<nn::LinearOp, nn::MatMulOp>(op) && !x.empty() && x.back() == 0;
  }

  void cast_operand(OpOperand& operand, mlir::Type element) {
    if (element_of(operand.get()) == element) return;
    mlir::Value& made = casts_[{operand.get(), element}];
    if (!made) {
      OpBuilder builder(operand.getOwner());
      made = nn::cast_to(builder, operand.getOwner()->getLoc(), operand.get(), element);
      Operation* op = made.getDefiningOp();
      if (mlir::Attribute device = operand.getOwner()->getAttr(nn::kDevice)) op->setAttr(nn::kDevice, device);
      StringRef dtype = cast<nn::CastOp>(op).getTo();
      op->setAttr(nn::kReason,
                  builder.getStringAttr(
                      ("--precision " + name_ + ": '" + nn::layer_of(operand.getOwner()) + "' computes in " + dtype).str()));
    }
    operand.set(made);
  }

  mlir::Value cast_output(Operation* end, mlir::Value value, mlir::Type wanted) {
    OpBuilder builder(end);
    Operation* producer = value.getDefiningOp();
    mlir::Value made = nn::cast_to(builder, producer ? producer->getLoc() : end->getLoc(), value,
                                   cast<RankedTensorType>(wanted).getElementType());
    Operation* op = made.getDefiningOp();
    int64_t device = 0;
    if (auto parallel = dyn_cast_or_null<nn::DataParallelOp>(producer)) {
      if (auto ids = parallel.getDeviceIds()) device = (*ids)[0];
      if (auto chosen = parallel.getOutputDevice()) device = static_cast<int64_t>(*chosen);
    } else if (auto placed = producer ? producer->getAttrOfType<IntegerAttr>(nn::kDevice) : IntegerAttr()) {
      device = placed.getInt();
    }
    op->setAttr(nn::kDevice, builder.getI64IntegerAttr(device));
    op->setAttr(nn::kReason, builder.getStringAttr("outputs keep their type, whatever the plan computes in"));
    return made;
  }

  func::FuncOp function_;
  FloatType narrow_;
  StringRef name_;
  DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> casts_;  ///< of the current block
};

struct NnSetPrecision : impl::NnSetPrecisionBase<NnSetPrecision> {
  using Base::Base;

  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    if (precision == "f32" && !has_halves()) return;
    StringRef dtype = precision == "f32" ? "float32" : precision == "bf16" ? "bfloat16" : precision == "f16" ? "float16" : "";
    FloatType narrow = nn::float_type(&getContext(), dtype);
    if (!narrow) {
      getOperation().emitError("expects a precision of f32, bf16 or f16, but got '") << precision << "'";
      return signalPassFailure();
    }
    if (failed(Precision(getOperation(), narrow, precision).run())) signalPassFailure();
  }

 private:
  /// Parameters are f32: halves come in as arguments or from casts.
  bool has_halves() {
    if (llvm::any_of(getOperation().getArgumentTypes(), is_half)) return true;
    WalkResult found = getOperation().walk([](nn::CastOp cast) {
      return is_half(cast->getResult(0).getType()) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return found.wasInterrupted();
  }
};

}  // namespace
}  // namespace sheaf::passes
