#include "passes/dist/LossScale.h"

#include "passes/Arguments.h"

#include "llvm/ADT/MapVector.h"

namespace sheaf::passes {

using namespace mlir;
using dist::PlacedType;

namespace {

constexpr StringLiteral kScale = "loss_scale.scale", kTracker = "loss_scale.growth_tracker", kSteps = "loss_scale.steps";

DictionaryAttr arguments_of_scale(func::FuncOp function) { return function->getAttrOfType<DictionaryAttr>(nn::kLossScale); }
FloatAttr number(DictionaryAttr arguments, StringRef name) { return arguments.getAs<FloatAttr>(name); }

RankedTensorType scalar_type(Builder& builder) { return RankedTensorType::get({}, builder.getF32Type()); }

/// The 0-dimensional state `name` on `home`, added if the function doesn't have it yet.
mlir::Value state(func::FuncOp function, StringRef name, Attribute home, FloatAttr initial = {}) {
  if (BlockArgument known = find_argument(function, "state", name)) return known;
  Builder builder(function.getContext());
  BlockArgument added =
      add_argument(function, PlacedType::get(function.getContext(), scalar_type(builder), home), "state", name);
  if (initial) function.setArgAttr(added.getArgNumber(), nn::kInitial, initial);
  return added;
}

mlir::Value one_of(OpBuilder& builder, mlir::Location loc, Attribute place, ValueRange inputs,
                   llvm::function_ref<mlir::Value(OpBuilder&, ValueRange)> build) {
  return make_apply(builder, loc, place, inputs,
                    [&](OpBuilder& inner, ValueRange in) -> SmallVector<mlir::Value> { return {build(inner, in)}; })[0];
}

mlir::Value filled(OpBuilder& builder, mlir::Location loc, Attribute place, FloatAttr value) {
  return one_of(builder, loc, place, {}, [&](OpBuilder& inner, ValueRange) -> mlir::Value {
    return inner.create<nn::FillOp>(loc, scalar_type(inner), value);
  });
}

}  // namespace

mlir::Value seed_of_loss(OpBuilder& builder, func::FuncOp function, mlir::Value loss) {
  DictionaryAttr arguments = arguments_of_scale(function);
  if (arguments && !number(arguments, "scale"))
    return state(function, kScale, layout_of(loss), number(arguments, "init_scale"));
  return filled(builder, loss.getLoc(), layout_of(loss), arguments ? number(arguments, "scale") : builder.getF64FloatAttr(1));
}

LossScaling::LossScaling(func::FuncOp function, OpBuilder& builder, Moves& moves, mlir::Value loss)
    : function_(function), builder_(builder), moves_(moves), arguments_(arguments_of_scale(function)), home_(layout_of(loss)) {
  if (adapts()) {
    scale_ = state(function, kScale, home_, number(arguments_, "init_scale"));
    tracker_ = state(function, kTracker, home_);
  }
  steps_ = state(function, kSteps, home_);
}

bool LossScaling::adapts() const { return !number(arguments_, "scale"); }

mlir::Value LossScaling::inverse(Attribute place) {
  mlir::Value& made = inverses_[place];
  if (made) return made;
  mlir::Location loc = function_.getLoc();
  if (!adapts())
    return made = filled(builder_, loc, place, builder_.getF64FloatAttr(1 / number(arguments_, "scale").getValueAsDouble()));
  mlir::Value scale = moves_.on(scale_, place, "gradients are divided by the loss's scale where they are");
  return made = one_of(builder_, loc, place, {scale}, [&](OpBuilder& b, ValueRange in) -> mlir::Value {
           mlir::Value one = b.create<nn::FillOp>(loc, in[0].getType(), b.getF64FloatAttr(1));
           return b.create<nn::DivOp>(loc, in[0].getType(), one, in[0]);
         });
}

/// One count for all gradients of a place. Gradients in shares are counted share by share, and their counts are added up.
mlir::Value LossScaling::count(ArrayRef<mlir::Value> gradients) {
  Attribute place = scalars_for(layout_of(gradients[0]));
  mlir::Location loc = function_.getLoc();
  llvm::MapVector<Attribute, SmallVector<mlir::Value>> together;
  for (mlir::Value gradient : gradients) together[layout_of(gradient)].push_back(gradient);
  SmallVector<mlir::Value> counts;
  for (const auto& [layout, members] : together) {
    auto shares = dyn_cast<dist::ShardedAttr>(layout);
    Attribute made = shares ? Attribute(dist::PartialAttr::get(layout.getContext(), shares.getGroup())) : layout;
    mlir::Value found = one_of(builder_, loc, made, members, [&](OpBuilder& b, ValueRange in) -> mlir::Value {
      return b.create<nn::NonfiniteOp>(loc, scalar_type(b), in);
    });
    if (shares) {
      auto type = dist::PlacedType::get(builder_.getContext(), tensor_of(found), scalars_for(layout));
      found = builder_.create<dist::AllReduceOp>(
          loc, type, found, builder_.getStringAttr("the step is left out unless the shares of all replicas are finite"));
    }
    counts.push_back(moves_.on(found, place, "the step is left out unless all gradients are finite, wherever they are"));
  }
  return one_of(builder_, loc, place, counts, [&](OpBuilder& b, ValueRange in) -> mlir::Value {
    mlir::Value sum = in[0];
    for (mlir::Value more : in.drop_front()) sum = b.create<nn::AddOp>(loc, sum.getType(), sum, more);
    return sum;
  });
}

void LossScaling::unscale(MutableArrayRef<mlir::Value> gradients) {
  nonfinite_ = count(gradients);
  for (mlir::Value& gradient : gradients) {
    mlir::Location made = made_at(gradient);
    gradient = one_of(
        builder_, made, layout_of(gradient), {gradient, inverse(scalars_for(layout_of(gradient)))},
        [&](OpBuilder& b, ValueRange in) -> mlir::Value { return b.create<nn::MulOp>(made, in[0].getType(), in[0], in[1]); });
  }
}

mlir::Value LossScaling::nonfinite(Attribute place) {
  return moves_.on(nonfinite_, place, "where a gradient isn't finite, everything stays as it was");
}

mlir::Value LossScaling::step(Attribute place) {
  mlir::Value& made = numbers_[place];
  if (made) return made;
  mlir::Location loc = function_.getLoc();
  mlir::Value steps = moves_.on(steps_, place, "the number of updates so far is needed where the parameters are");
  return made = one_of(builder_, loc, place, {steps}, [&](OpBuilder& b, ValueRange in) -> mlir::Value {
           auto integer = RankedTensorType::get({}, b.getI64Type());
           mlir::Value number = b.create<nn::CastOp>(loc, integer, in[0], b.getStringAttr("int64"));
           return b.create<nn::IncrementOp>(loc, integer, number);
         });
}

void LossScaling::finish(SmallVectorImpl<mlir::Attribute>& names, SmallVectorImpl<mlir::Value>& values) {
  mlir::Location loc = function_.getLoc();
  SmallVector<mlir::Value> inputs = {nonfinite(home_), steps_};
  if (adapts()) inputs.append({scale_, tracker_});
  auto made = make_apply(builder_, loc, home_, inputs, [&](OpBuilder& b, ValueRange in) {
    mlir::Type type = in[0].getType();
    mlir::Value one = b.create<nn::FillOp>(loc, type, b.getF64FloatAttr(1));
    mlir::Value more = b.create<nn::AddOp>(loc, type, in[1], one);
    SmallVector<mlir::Value> results = {b.create<nn::KeepUnlessFiniteOp>(loc, type, in[1], more, in[0])};
    if (!adapts()) return results;
    auto interval = arguments_.getAs<IntegerAttr>("growth_interval");
    results.push_back(b.create<nn::LossScaleOp>(loc, type, in[2], in[3], in[0], number(arguments_, "growth_factor"),
                                                number(arguments_, "backoff_factor"), interval));
    results.push_back(b.create<nn::GrowthTrackerOp>(loc, type, in[3], in[0], interval));
    return results;
  });
  for (StringRef name : {kSteps, kScale, kTracker}) names.push_back(builder_.getStringAttr(name));
  if (!adapts()) names.pop_back_n(2);
  llvm::append_range(values, made);
}

}  // namespace sheaf::passes
