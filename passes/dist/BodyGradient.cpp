#include "passes/dist/BodyGradient.h"

namespace sheaf::passes {

using namespace mlir;
using dist::PlacedType;

namespace {

Attribute gradient_layout(Attribute layout) {
  // Each replica has part of the gradient of a value that all replicas use.
  if (auto replicated = dyn_cast<dist::ReplicatedAttr>(layout))
    return dist::PartialAttr::get(layout.getContext(), replicated.getGroup());
  return layout;
}

mlir::Value forward_value(Operation* forward, mlir::Value inside) {
  if (auto argument = dyn_cast<BlockArgument>(inside)) return forward->getOperand(argument.getArgNumber());
  auto yielded = forward->getRegion(0).front().getTerminator()->getOperands();
  return forward->getResult(static_cast<unsigned>(llvm::find(yielded, inside) - yielded.begin()));
}

}  // namespace

BodyGradient::BodyGradient(Operation* apply, ArrayRef<mlir::Value> gradients, const DenseSet<mlir::Value>& active,
                           const ir::KnownValues& parameters_alone, const ir::ShapeAnalysis* shapes)
    : apply_(apply),
      active_(active),
      shapes_(shapes),
      builder_(apply->getContext()),
      body_(new Block),
      forward_(builder_, body_, parameters_alone) {
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

LogicalResult BodyGradient::run() {
  for (Operation& op : llvm::reverse(forward_body().without_terminator()))
    if (failed(visit(op))) return failure();
  return success();
}

SmallVector<mlir::Value> BodyGradient::finish(OpBuilder& builder) {
  Operation* forward = export_values();
  forward_.mark_computed_twice();
  SmallVector<mlir::Value> inputs = inputs_, yielded, results(forward->getNumOperands());
  for (auto [position, value] : forward_.kept()) {
    assert(position == inputs.size());
    inputs.push_back(forward_value(forward, value));
  }
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

void BodyGradient::accumulate(mlir::Value forward, mlir::Value gradient) {
  mlir::Type element = cast<RankedTensorType>(forward.getType()).getElementType();
  // A value that a cast narrowed has a wide gradient: a weight's gradient is summed in f32, for an f32 parameter.
  if (forward.getDefiningOp<nn::CastOp>()) element = nn::sum_type(element);
  gradient = nn::cast_to(builder_, gradient.getLoc(), gradient, element);
  mlir::Value& sum = gradients_[forward];
  sum = sum ? builder_.create<nn::AddOp>(gradient.getLoc(), sum.getType(), sum, gradient).getResult() : gradient;
}

LogicalResult BodyGradient::visit(Operation& op) {
  SmallVector<mlir::Value> results;
  for (mlir::Value result : op.getResults()) results.push_back(gradients_.lookup(result));
  bool wanted = llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return active_.contains(operand); });
  if (!wanted || llvm::none_of(results, [](mlir::Value gradient) { return static_cast<bool>(gradient); })) return success();
  auto differentiable = dyn_cast<nn::GradientOpInterface>(op);
  if (!differentiable) return op.emitError("has no gradient: the loss cannot be trained through it");
  std::function<ir::TensorShape(mlir::Value)> shape;
  if (shapes_) shape = [&](mlir::Value value) { return shapes_->of(value); };
  nn::GradientBuilder gradients(
      builder_, &op, [&](mlir::Value value) { return forward_.get(value, &op); },
      [&](unsigned operand) { return active_.contains(op.getOperand(operand)); }, std::move(shape));
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

Operation* BodyGradient::export_values() {
  auto yielded = forward_body().getTerminator()->getOperands();
  SmallVector<mlir::Value> further;
  for (auto [position, value] : forward_.kept())
    if (!isa<BlockArgument>(value) && !llvm::is_contained(yielded, value)) further.push_back(value);
  if (!further.empty()) apply_ = with_results(apply_, further);
  return apply_;
}

}  // namespace sheaf::passes
