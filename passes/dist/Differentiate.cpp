// dist-differentiate: the backward pass of a partitioned program, op by op in reverse.
#include "ir/Nn/Phase.h"
#include "passes/dist/Apply.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTDIFFERENTIATE
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

bool is_real(mlir::Value value) {
  auto placed = dyn_cast<PlacedType>(value.getType());
  auto tensor = placed ? placed.getTensor() : dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

bool is_apply(Operation* op) { return isa<dist::ApplyOp, dist::ParallelApplyOp>(op); }

/// Builds the dual of one apply or parallel_apply: a body of its own, whose arguments are found on the way.
class BodyGradient {
 public:
  /// `gradients`: by result of `apply`, null if there is none. `active`: values that depend on a parameter.
  BodyGradient(Operation* apply, ArrayRef<mlir::Value> gradients, const DenseSet<mlir::Value>& active)
      : apply_(apply), active_(active), builder_(apply->getContext()), body_(new Block) {
    region_.push_back(body_);
    builder_.setInsertionPointToEnd(body_);
    Operation* yield = forward_body().getTerminator();
    for (auto [i, gradient] : llvm::enumerate(gradients)) {
      if (!gradient) continue;
      mlir::Value argument = body_->addArgument(tensor_of(gradient), apply->getLoc());
      inputs_.push_back(gradient);
      accumulate(yield->getOperand(static_cast<unsigned>(i)), argument);
    }
  }

  LogicalResult run() {
    for (Operation& op : llvm::reverse(forward_body().without_terminator()))
      if (failed(visit(op))) return failure();
    return success();
  }

  /// Puts the dual at `builder`'s position: first the further results that the forward body must give, then the new op. Returns
  /// the gradients by operand of the forward op, null if there is none. `apply` may be replaced.
  SmallVector<mlir::Value> finish(OpBuilder& builder) {
    Operation* forward = export_values();
    SmallVector<mlir::Value> inputs = inputs_, yielded, results(forward->getNumOperands());
    for (auto [position, value] : needed_) inputs[position] = forward_value(forward, value);
    SmallVector<mlir::Type> types;
    SmallVector<unsigned> positions;
    Block& body = forward->getRegion(0).front();
    for (BlockArgument argument : body.getArguments()) {
      mlir::Value gradient = gradients_.lookup(argument);
      if (!gradient || !active_.contains(argument)) continue;
      yielded.push_back(gradient);
      positions.push_back(argument.getArgNumber());
      auto tensor = cast<RankedTensorType>(gradient.getType());
      types.push_back(PlacedType::get(builder.getContext(), tensor,
                                      gradient_layout(layout_of(forward->getOperand(argument.getArgNumber())))));
    }
    if (yielded.empty()) return results;
    builder_.create<dist::YieldOp>(forward->getLoc(), yielded);
    OperationState state(forward->getLoc(), forward->getName(), inputs, types, forward->getAttrs());
    state.addRegion()->takeBody(region_);
    Operation* dual = builder.create(state);
    for (auto [position, result] : llvm::zip(positions, dual->getResults())) results[position] = result;
    return results;
  }

 private:
  Block& forward_body() { return apply_->getRegion(0).front(); }

  void accumulate(mlir::Value forward, mlir::Value gradient) {
    mlir::Type element = cast<RankedTensorType>(forward.getType()).getElementType();
    // A value that a cast made narrow has a wide gradient: a weight's is summed in f32, for an f32 parameter.
    if (forward.getDefiningOp<nn::CastOp>()) element = nn::sum_type(element);
    gradient = nn::cast_to(builder_, gradient.getLoc(), gradient, element);
    mlir::Value& sum = gradients_[forward];
    sum = sum ? builder_.create<nn::AddOp>(gradient.getLoc(), sum.getType(), sum, gradient).getResult() : gradient;
  }

  /// A value of the forward body as an argument of the backward one.
  mlir::Value saved(mlir::Value value) {
    mlir::Value& argument = saved_[value];
    if (!argument) {
      argument = body_->addArgument(value.getType(), value.getLoc());
      needed_.push_back({static_cast<unsigned>(inputs_.size()), value});
      inputs_.push_back({});
    }
    return argument;
  }

  LogicalResult visit(Operation& op) {
    SmallVector<mlir::Value> results;
    for (mlir::Value result : op.getResults()) results.push_back(gradients_.lookup(result));
    bool wanted = llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return active_.contains(operand); });
    if (!wanted || llvm::none_of(results, [](mlir::Value gradient) { return static_cast<bool>(gradient); })) return success();
    auto differentiable = dyn_cast<nn::GradientOpInterface>(op);
    if (!differentiable) return op.emitError("has no gradient: the loss cannot be trained through it");
    nn::GradientBuilder gradients(
        builder_, &op, [&](mlir::Value value) { return saved(value); },
        [&](unsigned operand) { return active_.contains(op.getOperand(operand)); });
    SmallVector<mlir::Value> operands(op.getNumOperands());
    bool errors = false;
    ScopedDiagnosticHandler handler(op.getContext(), [&](mlir::Diagnostic& diagnostic) {
      errors |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure();  // others report it
    });
    differentiable.buildGradient(gradients, results, operands);
    if (errors) return failure();
    for (auto [operand, gradient] : llvm::zip(op.getOperands(), operands))
      if (active_.contains(operand) && gradient) accumulate(operand, gradient);
    return success();
  }

  Attribute gradient_layout(Attribute layout) {
    // Each replica has a part of the gradient of a value that all replicas use.
    if (auto replicated = dyn_cast<dist::ReplicatedAttr>(layout))
      return dist::PartialAttr::get(layout.getContext(), replicated.getGroup());
    return layout;
  }

  /// Values of the forward body that the dual needs and that don't leave it yet become results: the op is rebuilt.
  Operation* export_values() {
    auto yielded = forward_body().getTerminator()->getOperands();
    SmallVector<mlir::Value> further;
    for (auto [position, value] : needed_)
      if (!isa<BlockArgument>(value) && !llvm::is_contained(yielded, value)) further.push_back(value);
    if (!further.empty()) apply_ = with_results(apply_, further);
    return apply_;
  }

  static mlir::Value forward_value(Operation* forward, mlir::Value inside) {
    if (auto argument = dyn_cast<BlockArgument>(inside)) return forward->getOperand(argument.getArgNumber());
    auto yielded = forward->getRegion(0).front().getTerminator()->getOperands();
    return forward->getResult(static_cast<unsigned>(llvm::find(yielded, inside) - yielded.begin()));
  }

  Operation* apply_;
  const DenseSet<mlir::Value>& active_;
  OpBuilder builder_;
  mlir::Region region_;
  Block* body_;
  SmallVector<mlir::Value> inputs_;                       ///< of the dual; null if `needed_` says what it is
  SmallVector<std::pair<unsigned, mlir::Value>> needed_;  ///< position among inputs_, value of the forward body
  DenseMap<mlir::Value, mlir::Value> gradients_, saved_;  ///< by value of the forward body
};

/// Differentiates one function whose first result is the loss.
class Differentiator {
 public:
  explicit Differentiator(func::FuncOp function) : function_(function), builder_(function.getContext()) {}

  LogicalResult run() {
    Block& block = function_.getBody().front();
    find_active(block);
    SmallVector<Operation*> forward;
    for (Operation& op : block.without_terminator()) forward.push_back(&op);
    Operation* end = block.getTerminator();
    builder_.setInsertionPoint(end);
    mlir::Value loss = end->getOperand(0);
    if (!active_.contains(loss)) return function_.emitError("the loss depends on no parameter: there is nothing to train");
    gradients_[loss] = apply_one(loss.getLoc(), layout_of(loss), {}, [&](OpBuilder& builder, ValueRange) -> mlir::Value {
      return builder.create<nn::FillOp>(loss.getLoc(), tensor_of(loss), builder.getF64FloatAttr(1));
    });
    Operation* first = gradients_[loss].getDefiningOp();
    for (Operation* op : llvm::reverse(forward))
      if (failed(visit(op))) return failure();
    nn::set_phase(first->getIterator(), end->getIterator(), Phase::backward);
    return return_gradients(block);
  }

 private:
  void find_active(Block& block) {
    for (BlockArgument argument : function_.getArguments()) {
      auto role = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      if (role && role.getValue() == "parameter" && is_real(argument)) active_.insert(argument);
    }
    for (Operation& op : block.without_terminator()) spread(op);
  }

  void spread(Operation& op) {
    bool any = llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return active_.contains(operand); });
    if (!any) return;
    if (!is_apply(&op)) {
      for (mlir::Value result : op.getResults())
        if (is_real(result)) active_.insert(result);
      return;
    }
    Block& body = op.getRegion(0).front();
    for (auto [operand, argument] : llvm::zip(op.getOperands(), body.getArguments()))
      if (active_.contains(operand)) active_.insert(argument);
    for (Operation& inner : body.without_terminator()) spread(inner);
    for (auto [result, value] : llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
      if (active_.contains(value)) active_.insert(result);
  }

  /// An apply or parallel_apply around one nn op.
  mlir::Value apply_one(mlir::Location loc, Attribute layout, ValueRange inputs,
                        llvm::function_ref<mlir::Value(OpBuilder&, ValueRange)> build) {
    return make_apply(builder_, loc, layout, inputs, [&](OpBuilder& inner, ValueRange arguments) -> SmallVector<mlir::Value> {
      return {build(inner, arguments)};
    })[0];
  }

  void accumulate(mlir::Value value, mlir::Value gradient) {
    mlir::Value& sum = gradients_[value];
    if (!sum) {
      sum = gradient;
      return;
    }
    sum = apply_one(gradient.getLoc(), layout_of(gradient), {sum, gradient},
                    [&](OpBuilder& builder, ValueRange parts) -> mlir::Value {
                      return builder.create<nn::AddOp>(gradient.getLoc(), parts[0].getType(), parts[0], parts[1]);
                    });
  }

  LogicalResult visit(Operation* op) {
    if (is_apply(op)) return visit_apply(op);
    mlir::Value gradient = gradients_.lookup(op->getResult(0)), input = op->getOperand(0);
    if (!gradient || !active_.contains(input)) return success();
    std::string layer = "'" + nn::layer_of(op).str() + "'";
    auto move = [&](auto tag, const std::string& reason) {
      using Op = decltype(tag);
      accumulate(input, builder_.create<Op>(op->getLoc(), input.getType(), gradient, builder_.getStringAttr(reason)));
    };
    if (isa<dist::ScatterOp>(op)) {
      move(dist::GatherOp(), "the dual of the scatter: the gradient of what " + layer + " split, put together again");
    } else if (isa<dist::GatherOp>(op)) {
      accumulate(input, builder_.create<dist::ScatterOp>(op->getLoc(), input.getType(), gradient, input,
                                                         builder_.getStringAttr("the dual of the gather: each replica of " +
                                                                                layer + " gets the gradient of its output")));
    } else if (isa<dist::ReplicateOp>(op)) {
      move(dist::ReduceOp(), "the dual of the replicate: the replicas' gradients are added up, left to right");
    } else if (isa<dist::TransferOp>(op)) {
      move(dist::TransferOp(), "the dual of the transfer: the gradient goes back where the value came from");
    } else {
      return op->emitError("has no dual");
    }
    return success();
  }

  LogicalResult visit_apply(Operation* op) {
    SmallVector<mlir::Value> gradients;
    for (mlir::Value result : op->getResults())
      gradients.push_back(active_.contains(result) ? gradients_.lookup(result) : mlir::Value());
    if (llvm::none_of(gradients, [](mlir::Value gradient) { return static_cast<bool>(gradient); })) return success();
    SmallVector<mlir::Value> operands(op->getOperands());
    BodyGradient body(op, gradients, active_);
    if (failed(body.run())) return failure();
    for (auto [operand, gradient] : llvm::zip(operands, body.finish(builder_)))
      if (gradient) accumulate(operand, gradient);
    return success();
  }

  /// The parameters' gradients become results; `nn.gradients` has the parameters' names.
  LogicalResult return_gradients(Block& block) {
    Operation* end = block.getTerminator();
    SmallVector<mlir::Value> results(end->getOperands());
    SmallVector<StringRef> names, unreached;
    for (BlockArgument argument : function_.getArguments()) {
      auto role = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      if (role.getValue() != "parameter") continue;
      StringRef name = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kName).getValue();
      if (mlir::Value gradient = gradients_.lookup(argument)) {
        names.push_back(name);
        results.push_back(gradient);
      } else {
        unreached.push_back(name);
      }
    }
    if (!unreached.empty())
      function_.emitWarning("the loss doesn't depend on ")
          << llvm::join(unreached, ", ") << "; training leaves " << (unreached.size() == 1 ? "it" : "them") << " as "
          << (unreached.size() == 1 ? "it is" : "they are");
    end->setOperands(results);
    function_->setAttr(nn::kGradients, builder_.getStrArrayAttr(names));
    function_.setType(builder_.getFunctionType(block.getArgumentTypes(), end->getOperandTypes()));
    return success();
  }

  func::FuncOp function_;
  OpBuilder builder_;
  DenseSet<mlir::Value> active_;
  DenseMap<mlir::Value, mlir::Value> gradients_;  ///< by forward value
};

struct DistDifferentiate : impl::DistDifferentiateBase<DistDifferentiate> {
  void runOnOperation() override {
    if (getOperation().isExternal() || getOperation().getNumResults() == 0) return;
    if (failed(Differentiator(getOperation()).run())) signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
