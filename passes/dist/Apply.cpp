#include "passes/dist/Apply.h"

namespace sheaf::passes {

using namespace mlir;
using dist::PlacedType;

SmallVector<mlir::Value> make_apply(OpBuilder& builder, mlir::Location loc, Attribute layout, ValueRange inputs,
                                    llvm::function_ref<SmallVector<mlir::Value>(OpBuilder&, ValueRange)> build) {
  mlir::Region region;
  auto* body = new Block;
  region.push_back(body);
  for (mlir::Value input : inputs) body->addArgument(cast<PlacedType>(input.getType()).getTensor(), loc);
  OpBuilder inner(builder.getContext());
  inner.setInsertionPointToEnd(body);
  SmallVector<mlir::Value> made = build(inner, body->getArguments());
  inner.create<dist::YieldOp>(loc, made);
  SmallVector<mlir::Type> types;
  for (mlir::Value value : made)
    types.push_back(PlacedType::get(builder.getContext(), cast<RankedTensorType>(value.getType()), layout));
  FlatSymbolRefAttr group = dist::group_of(layout);
  OperationState state(loc, group ? dist::ParallelApplyOp::getOperationName() : dist::ApplyOp::getOperationName(), inputs,
                       types);
  if (group) state.addAttribute("group", group);
  else state.addAttribute("place", layout);
  state.addRegion()->takeBody(region);
  return llvm::to_vector_of<mlir::Value>(builder.create(state)->getResults());
}

mlir::Value move_to(OpBuilder& builder, mlir::Value value, Attribute to, StringRef reason) {
  Attribute from = layout_of(value);
  if (from == to) return value;
  auto move = [&](auto tag, mlir::Value input, Attribute layout) -> mlir::Value {
    auto type = PlacedType::get(builder.getContext(), tensor_of(input), layout);
    return builder.create<decltype(tag)>(value.getLoc(), type, input, builder.getStringAttr(reason));
  };
  auto home = dyn_cast<dist::ReplicatedAttr>(from);
  if (!home && !isa<dist::ReplicatedAttr>(to)) return move(dist::TransferOp(), value, to);
  // Between groups, the value goes through the host.
  if (home && isa<dist::ReplicatedAttr>(to)) value = move(dist::FirstOp(), value, dist::HostAttr::get(builder.getContext()));
  if (isa<dist::ReplicatedAttr>(to)) return move(dist::ReplicateOp(), value, to);
  return move(dist::FirstOp(), value, to);
}

Operation* with_results(Operation* op, ArrayRef<mlir::Value> values) {
  Operation* yield = op->getRegion(0).front().getTerminator();
  SmallVector<mlir::Value> yielded(yield->getOperands());
  SmallVector<mlir::Type> types(op->getResultTypes());
  auto parallel = dyn_cast<dist::ParallelApplyOp>(op);
  Attribute layout = parallel ? Attribute(dist::LocalAttr::get(op->getContext(), parallel.getGroupAttr()))
                              : cast<dist::ApplyOp>(op).getPlace();
  for (mlir::Value value : values) {
    yielded.push_back(value);
    types.push_back(PlacedType::get(op->getContext(), cast<RankedTensorType>(value.getType()), layout));
  }
  yield->setOperands(yielded);
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName(), op->getOperands(), types, op->getAttrs());
  state.addRegion()->takeBody(op->getRegion(0));
  Operation* larger = builder.create(state);
  op->replaceAllUsesWith(larger->getResults().take_front(op->getNumResults()));
  op->erase();
  return larger;
}

Attribute scalars_for(Attribute layout) {
  auto shares = dyn_cast<dist::ShardedAttr>(layout);
  return shares ? dist::ReplicatedAttr::get(layout.getContext(), shares.getGroup()) : layout;
}

mlir::Location made_at(mlir::Value value) {
  Operation* op = value.getDefiningOp();
  if (!isa_and_nonnull<dist::ApplyOp, dist::ParallelApplyOp>(op)) return value.getLoc();
  mlir::Value inside = op->getRegion(0).front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber());
  return inside.getDefiningOp() ? inside.getLoc() : value.getLoc();
}

}  // namespace sheaf::passes
