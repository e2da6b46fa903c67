// dist-differentiate: builds the backward pass of a partitioned program, op by op in reverse.
#include "ir/Analysis/ShapeAnalysis.h"
#include "ir/Nn/Checkpoint.h"
#include "ir/Nn/Lengths.h"
#include "ir/Nn/Phase.h"
#include "passes/Arguments.h"
#include "passes/dist/Apply.h"
#include "passes/dist/BodyGradient.h"
#include "passes/dist/LossScale.h"

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

/// Differentiates one function: its first result, the loss, with respect to the parameters; or all outputs, whose gradients
/// become targets, with respect to the values listed in `nn.differentiate`.
class Differentiator {
 public:
  explicit Differentiator(func::FuncOp function)
      : function_(function), wanted_(function->getAttrOfType<ArrayAttr>(nn::kDifferentiate)), builder_(function.getContext()) {}

  LogicalResult run() {
    Block& block = function_.getBody().front();
    find_active(block);
    find_parameters_alone();
    // Bodies keep their values when an apply is rebuilt, so one analysis serves all duals.
    if (function_->hasAttr(nn::kLengths) && failed(shapes_.emplace().run(function_))) return failure();
    SmallVector<Operation*> forward;
    for (Operation& op : block.without_terminator()) forward.push_back(&op);
    Operation* end = block.getTerminator();
    builder_.setInsertionPoint(end);
    if (failed(wanted_ ? take_seeds(end) : begin_at_loss(end->getOperand(0)))) return failure();
    for (Operation* op : llvm::reverse(forward))
      if (failed(visit(op))) return failure();
    // Forward ops may have been rebuilt, but their number is unchanged.
    nn::set_phase(std::next(block.begin(), static_cast<std::ptrdiff_t>(forward.size())), end->getIterator(), Phase::backward);
    return return_gradients(block);
  }

 private:
  LogicalResult begin_at_loss(mlir::Value loss) {
    if (!active_.contains(loss)) return function_.emitError("the loss depends on no parameter: there is nothing to train");
    gradients_[loss] = seed_of_loss(builder_, function_, loss);
    return success();
  }

  /// The gradients of outputs are targets, `OUTPUT.grad`, given on the host.
  LogicalResult take_seeds(Operation* end) {
    ir::ShapeAnalysis shapes;
    if (failed(shapes.run(function_))) return failure();
    auto names = function_->getAttrOfType<ArrayAttr>(nn::kOutputs);
    for (auto [name, output] : llvm::zip(names.getAsRange<StringAttr>(), end->getOperands())) {
      if (!active_.contains(output)) continue;
      SmallVector<mlir::Attribute> sizes;
      for (const Extent& size : shapes.of(output).dims) {
        for (const auto& [symbol, factor] : size.terms)
          if (symbol != "batch" && !shapes.is_length(symbol))
            return function_.emitError("output '")
                   << name.getValue() << "' has no gradient: its size depends on the number of replicas";
        sizes.push_back(builder_.getStringAttr(to_string(size)));
      }
      auto type = PlacedType::get(builder_.getContext(), tensor_of(output), dist::HostAttr::get(builder_.getContext()));
      BlockArgument seed = add_argument(function_, type, "target", name.getValue().str() + ".grad");
      function_.setArgAttr(seed.getArgNumber(), nn::kExtents, builder_.getArrayAttr(sizes));
      accumulate(output, move_to(builder_, seed, layout_of(output),
                                 "the gradient of an output is needed where the output is computed"));
    }
    return success();
  }

  /// The backward pass ends at `argument`.
  bool ends_at(BlockArgument argument) {
    auto role = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
    if (!role || !is_real(argument)) return false;
    return wanted_ ? llvm::is_contained(wanted_, function_.getArgAttr(argument.getArgNumber(), nn::kName))
                   : role.getValue() == "parameter";
  }

  void find_active(Block& block) {
    for (BlockArgument argument : function_.getArguments())
      if (ends_at(argument)) active_.insert(argument);
    for (Operation& op : block.without_terminator()) spread(op);
  }

  void spread(Operation& op) {
    bool any = llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return active_.contains(operand); });
    if (!any || isa<nn::InverseCountOp>(op)) return;  // a count depends on sizes alone
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

  /// Runs before the forward ops are rebuilt, and in order, as the analysis requires.
  void find_parameters_alone() {
    auto has_checkpoints = [](Operation* op) {
      return nn::checkpoints_of(op->getLoc()).empty() ? WalkResult::advance() : WalkResult::interrupt();
    };
    if (!function_.walk(has_checkpoints).wasInterrupted()) return;
    function_.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (is_apply(op)) return;
      for (mlir::Value result : op->getResults()) ir::depends_on_parameters_alone(result, parameters_alone_);
    });
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
    } else if (isa<dist::AllReduceOp>(op)) {
      auto sum = PlacedType::get(builder_.getContext(), tensor_of(gradient), layout_of(op->getResult(0)));
      accumulate(input, builder_.create<dist::AllReduceOp>(
                            op->getLoc(), sum, gradient,
                            builder_.getStringAttr("the dual of the all_reduce: all replicas use the sum that " + layer +
                                                   " takes, so a summand's gradient is the sum of those they have")));
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
    BodyGradient body(op, gradients, active_, parameters_alone_, shapes_ ? &*shapes_ : nullptr);
    if (failed(body.run())) return failure();
    for (auto [operand, gradient] : llvm::zip(operands, body.finish(builder_)))
      if (gradient) accumulate(operand, gradient);
    return success();
  }

  /// The gradients become results; `nn.gradients` lists the names of their parameters and inputs.
  LogicalResult return_gradients(Block& block) {
    Operation* end = block.getTerminator();
    SmallVector<mlir::Value> results(end->getOperands());
    SmallVector<StringRef> names, unreached;
    for (BlockArgument argument : function_.getArguments()) {
      auto role = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kRole);
      if (wanted_ ? !ends_at(argument) : role.getValue() != "parameter") continue;
      StringRef name = function_.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kName).getValue();
      if (mlir::Value gradient = gradients_.lookup(argument)) {
        names.push_back(name);
        results.push_back(gradient);
      } else {
        unreached.push_back(name);
      }
    }
    if (!unreached.empty() && !wanted_)  // tells a caller which gradients there are
      function_.emitWarning("the loss doesn't depend on ")
          << llvm::join(unreached, ", ") << "; training leaves " << (unreached.size() == 1 ? "it" : "them") << " as "
          << (unreached.size() == 1 ? "it is" : "they are");
    end->setOperands(results);
    function_->setAttr(nn::kGradients, builder_.getStrArrayAttr(names));
    function_.setType(builder_.getFunctionType(block.getArgumentTypes(), end->getOperandTypes()));
    return success();
  }

  func::FuncOp function_;
  ArrayAttr wanted_;  ///< nn.differentiate; null: differentiate the loss
  OpBuilder builder_;
  DenseSet<mlir::Value> active_;
  ir::KnownValues parameters_alone_;              ///< filled if there are checkpoints
  std::optional<ir::ShapeAnalysis> shapes_;       ///< of the forward program, if it has lengths
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
