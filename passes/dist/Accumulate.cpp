// dist-accumulate: splits a step over several micro-batches into two programs, one for each micro-batch and one for the end.
#include "ir/Analysis/ShapeAnalysis.h"
#include "ir/Nn/Phase.h"
#include "ir/Nn/ShapeRules.h"
#include "passes/Arguments.h"
#include "passes/dist/Apply.h"
#include "runtime/base/extent_product.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTACCUMULATE
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

/// How much a size grows with each row of the batch.
int64_t rows_per_row(const Extent& size, const ir::ShapeAnalysis& shapes) {
  int64_t rows = 0;
  for (const auto& [name, factor] : size.terms)
    for (const sheaf::Symbol& symbol : shapes.symbols())
      if (symbol.name == name && symbol.kind != sheaf::Symbol::replicas)
        rows += factor * (symbol.kind == sheaf::Symbol::batch ? 1 : rows_per_row(symbol.of, shapes));
  return rows;
}

/// A sum over the micro-batches.
struct Accumulator {
  std::string name;
  mlir::Type type;
  mlir::Location loc;
};

class Accumulation {
 public:
  explicit Accumulation(func::FuncOp step)
      : step_(step),
        end_(step.getBody().front().getTerminator()),
        builder_(end_),
        parameters_(arguments_of(step, "parameter")) {}

  LogicalResult run() {
    if (failed(tell_rows())) return failure();
    Operation* before = end_->getPrevNode();
    auto gradients = step_->getAttrOfType<ArrayAttr>(nn::kGradients);
    auto outputs = step_->getAttrOfType<ArrayAttr>(nn::kOutputs);
    SmallVector<mlir::Value> results(end_->getOperands());
    ArrayRef<mlir::Value> all = results;
    SmallVector<mlir::Value> kept = {all[0]};
    llvm::append_range(kept, all.drop_front(outputs.size()).drop_back(gradients.size()));
    if (auto known = step_->getAttrOfType<ArrayAttr>(nn::kUpdates)) llvm::append_range(updates_, known);
    accumulate("loss", all[0], layout_of(all[0]));
    bool divides = outputs.size() > 1;
    if (divides) accumulate("loss_divisor", all[1], layout_of(all[0]));
    for (auto [name, gradient] : llvm::zip(gradients.getAsRange<StringAttr>(), all.take_back(gradients.size()))) {
      mlir::Value parameter = parameters_.at(name.getValue());
      Attribute home = isa<dist::ShardedAttr>(layout_of(gradient)) ? layout_of(gradient) : layout_of(parameter);
      accumulate((name.getValue() + ".grad").str(), gradient, home);
    }
    nn::set_phase(before ? std::next(before->getIterator()) : end_->getBlock()->begin(), end_->getIterator(), Phase::update);
    llvm::append_range(kept, sums_);
    end_->setOperands(kept);
    build_update(gradients, divides);
    step_.setName("accumulate");
    step_->setAttr(nn::kOutputs, builder_.getStrArrayAttr({"loss"}));
    step_->setAttr(nn::kUpdates, builder_.getArrayAttr(updates_));
    for (StringRef name : {nn::kGradients, nn::kOptimizer, nn::kClipNorm, nn::kLossScale}) step_->removeAttr(name);
    step_.setType(builder_.getFunctionType(step_.getArgumentTypes(), end_->getOperandTypes()));
    return success();
  }

 private:
  /// Sets the `rows` of ops that draw a number for each element.
  LogicalResult tell_rows() {
    ir::ShapeAnalysis shapes;
    if (failed(shapes.run(step_))) return failure();
    auto tell = [&](auto op) -> WalkResult {
      int64_t rows = 0;
      for (const Extent& dim : shapes.of(op.getX()).dims) {
        for (const auto& [term, factor] : dim.terms)
          if (factors_of(term).size() > 1 && nn::depends_on_rows(op, dim)) {
            op.emitError("draws a number for each element of an input whose rows and lengths are one dimension (input ")
                << ir::to_string(shapes.of(op.getX())) << "); the same layer before they are joined mends it";
            return WalkResult::interrupt();
          }
        rows += rows_per_row(dim, shapes);
      }
      op.setRows(rows);
      return WalkResult::advance();
    };
    const WalkResult dropouts = step_.walk([&](nn::DropoutTrainOp op) { return tell(op); });
    const WalkResult slopes = step_.walk([&](nn::RreluTrainOp op) { return tell(op); });
    return failure(dropouts.wasInterrupted() || slopes.wasInterrupted());
  }

  void accumulate(const std::string& name, mlir::Value value, Attribute place) {
    mlir::Value part = move_to(builder_, value, place, "accumulated where the parameter lives");
    mlir::Value micro_batch = setting(scalars_for(place));
    BlockArgument sum = add_argument(step_, part.getType(), "accumulator", name);
    mlir::Location made = made_at(value);
    sums_.push_back(make_apply(builder_, made, place, {sum, part, micro_batch},
                               [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
                                 return {b.create<nn::AccumulateOp>(made, in[0].getType(), in[0], in[1], in[2])};
                               })[0]);
    accumulators_.push_back({name, part.getType(), made});
    updates_.push_back(builder_.getStringAttr(name));
  }

  /// The number of the micro-batch, on `place`.
  mlir::Value setting(Attribute place) {
    mlir::Value& moved = settings_[place];
    if (moved) return moved;
    mlir::Value value = find_argument(step_, "setting", "micro_batch");
    if (!value) {
      auto host = dist::HostAttr::get(step_.getContext());
      auto type = RankedTensorType::get({}, builder_.getI64Type());
      value = add_argument(step_, PlacedType::get(step_.getContext(), type, host), "setting", "micro_batch");
    }
    return moved = move_to(builder_, value, place, "the number of the micro-batch is needed where gradients are accumulated");
  }

  /// The function `update`: returns the loss and the gradients of the whole batch.
  void build_update(ArrayAttr gradients, bool divides) {
    OpBuilder after(step_);
    after.setInsertionPointAfter(step_);
    update_ = after.create<func::FuncOp>(step_.getLoc(), "update", after.getFunctionType({}, {}));
    OpBuilder b = OpBuilder::atBlockEnd(update_.addEntryBlock());
    auto end = b.create<func::ReturnOp>(step_.getLoc(), ValueRange());
    b.setInsertionPoint(end);
    for (StringAttr name : gradients.getAsRange<StringAttr>())
      add_argument(update_, parameters_.at(name.getValue()).getType(), "parameter", name.getValue());
    SmallVector<mlir::Value> sums, results;
    for (const Accumulator& accumulator : accumulators_)
      sums.push_back(add_argument(update_, accumulator.type, "accumulator", accumulator.name));
    mlir::Value divisor = divides ? sums[1] : mlir::Value();
    DenseMap<Attribute, mlir::Value> divisors;
    for (auto [i, accumulator] : llvm::enumerate(accumulators_)) {
      if (divides && i == 1) continue;
      if (!divides && i > 0) {
        results.push_back(sums[i]);
        continue;
      }
      mlir::Location loc = accumulator.loc;
      SmallVector<mlir::Value> inputs = {sums[i]};
      if (divides) {
        Attribute there = scalars_for(layout_of(sums[i]));
        mlir::Value& moved = divisors[there];
        if (!moved) moved = move_to(b, divisor, there, "gradients of the sum become those of the mean where they are");
        inputs.push_back(moved);
      }
      results.push_back(
          make_apply(b, loc, layout_of(sums[i]), inputs, [&](OpBuilder& inner, ValueRange in) -> SmallVector<mlir::Value> {
            if (in.size() > 1) return {inner.create<nn::DivOp>(loc, in[0].getType(), in[0], in[1])};
            // Not the argument itself: the update computes the loss it returns, and fails if that isn't finite.
            mlir::Value one = inner.create<nn::FillOp>(loc, in[0].getType(), inner.getF64FloatAttr(1));
            return {inner.create<nn::MulOp>(loc, in[0].getType(), in[0], one)};
          })[0]);
    }
    nn::set_phase(update_.getBody().front().begin(), end->getIterator(), Phase::update);
    end->setOperands(results);
    update_->setAttr(nn::kOutputs, b.getStrArrayAttr({"loss"}));
    for (StringRef name : {nn::kGradients, nn::kOptimizer, nn::kClipNorm, nn::kLossScale})
      if (mlir::Attribute attribute = step_->getAttr(name)) update_->setAttr(name, attribute);
    update_.setType(b.getFunctionType(update_.getArgumentTypes(), end->getOperandTypes()));
  }

  func::FuncOp step_, update_;
  Operation* end_;
  OpBuilder builder_;
  llvm::StringMap<BlockArgument> parameters_;
  SmallVector<Accumulator> accumulators_;
  SmallVector<mlir::Value> sums_;         ///< the accumulators' new values
  SmallVector<mlir::Attribute> updates_;  ///< nn.updates
  DenseMap<Attribute, mlir::Value> settings_;
};

struct DistAccumulate : impl::DistAccumulateBase<DistAccumulate> {
  void runOnOperation() override {
    for (auto function : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (function->hasAttr(nn::kGradients) && failed(Accumulation(function).run())) return signalPassFailure();
  }
};

}  // namespace
}  // namespace sheaf::passes
