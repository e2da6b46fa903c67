// dist-optimize: turns gradients into the parameters' new values, where the parameters live.
#include "ir/Nn/Phase.h"
#include "passes/Arguments.h"
#include "passes/dist/LossScale.h"
#include "passes/dist/Optimizers.h"
#include "runtime/plan/parameter_groups.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTOPTIMIZE
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

class Optimization {
 public:
  Optimization(func::FuncOp function, const Optimizer& optimizer)
      : function_(function),
        end_(function.getBody().front().getTerminator()),
        builder_(end_),
        moves_(builder_),
        optimizer_(optimizer),
        arguments_{function->getAttrOfType<DictionaryAttr>(nn::kOptimizer)},
        parameters_(arguments_of(function, "parameter")) {
    if (auto groups = arguments_.dictionary.getAs<ArrayAttr>("parameter_groups"))
      for (auto [index, group] : llvm::enumerate(groups.getAsRange<DictionaryAttr>())) take_group(index, group);
  }

  void run() {
    auto gradients = function_->getAttrOfType<ArrayAttr>(nn::kGradients);
    auto known = function_->getAttrOfType<ArrayAttr>(nn::kUpdates);
    SmallVector<mlir::Value> results(end_->getOperands()), values(ArrayRef(results).take_back(gradients.size()));
    results.resize(results.size() - gradients.size());
    if (known) llvm::append_range(names_, known);
    Operation* before = end_->getPrevNode();
    if (function_->hasAttr(nn::kLossScale) && !values.empty()) {
      scaling_.emplace(function_, builder_, moves_, end_->getOperand(0));
      scaling_->unscale(values);
    }
    if (auto norm = function_->getAttrOfType<FloatAttr>(nn::kClipNorm)) clip(values, norm);
    for (auto [name, gradient] : llvm::zip(gradients, values)) update(cast<StringAttr>(name), gradient);
    if (scaling_) scaling_->finish(names_, updated_);
    nn::set_phase(before ? std::next(before->getIterator()) : end_->getBlock()->begin(), end_->getIterator(), Phase::update);
    llvm::append_range(results, updated_);
    end_->setOperands(results);
    function_->removeAttr(nn::kGradients);
    function_->setAttr(nn::kUpdates, builder_.getArrayAttr(names_));
    function_.setType(builder_.getFunctionType(function_.getArgumentTypes(), end_->getOperandTypes()));
  }

 private:
  /// Settings that the updates of some parameters use instead of the optimiser's own.
  struct Group {
    OptimizerArguments arguments;
    std::string rate = "lr";  ///< the setting
  };

  /// {parameters = [full names], lr, weight_decay}: the group's own settings; the rest are as for all others.
  void take_group(size_t index, DictionaryAttr own) {
    NamedAttrList arguments(arguments_.dictionary);
    for (NamedAttribute entry : own)
      if (arguments.get(entry.getName())) arguments.set(entry.getName(), entry.getValue());
    Group group{{arguments.getDictionary(function_.getContext())}};
    if (own.get("lr")) group.rate = group_rate_setting(index);
    for (auto name : own.getAs<ArrayAttr>("parameters").getAsRange<StringAttr>()) groups_[name.getValue()] = group;
  }

  /// A 0-dimensional setting on `place`.
  mlir::Value setting(StringRef name, Attribute place) {
    mlir::Value value = find_argument(function_, "setting", name);
    if (!value) {
      mlir::Type element = name == "step" ? mlir::Type(builder_.getI64Type()) : mlir::Type(builder_.getF32Type());
      auto host = dist::HostAttr::get(function_.getContext());
      value = add_argument(function_, PlacedType::get(function_.getContext(), RankedTensorType::get({}, element), host),
                           "setting", name);
    }
    return moves_.on(value, place, "the optimiser's setting '" + name.str() + "' is needed where the parameters are");
  }

  /// The number of this update, from 1, on `place`.
  mlir::Value number_of_step(Attribute place) { return scaling_ ? scaling_->step(place) : setting("step", place); }

  /// Created once on `place`; `rate` is the setting of the learning rate.
  mlir::Value scalar(const OptimizerScalar& scalar, StringRef rate, Attribute place) {
    if (scalar.name == "step") return number_of_step(place);
    if (!scalar.of_step) return setting(scalar.name == "lr" ? rate : scalar.name, place);
    mlir::Value& made = made_[{builder_.getStringAttr(scalar.name), place}];
    if (!made) {
      mlir::Location loc = function_.getLoc();
      made = make_apply(
          builder_, loc, place, {number_of_step(place)},
          [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> { return {scalar.of_step(b, loc, in[0])}; })[0];
    }
    return made;
  }

  /// Multiplies all gradients by min(1, max_norm / norm), with the norm taken over all of them on the place of the first. For
  /// gradients in shares it is taken over all elements in their order, so the strategy doesn't change its bits.
  void clip(MutableArrayRef<mlir::Value> gradients, FloatAttr max_norm) {
    if (gradients.empty()) return;
    Attribute place = scalars_for(layout_of(gradients[0]));
    SmallVector<mlir::Value> squares;
    for (mlir::Value shared : gradients) {
      mlir::Value gradient = moves_.whole(shared, "clip_grad_norm adds up the squares of all elements in one order");
      mlir::Location made = made_at(gradient);
      auto square = make_apply(builder_, made, layout_of(gradient), {gradient},
                               [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
                                 auto type = cast<RankedTensorType>(in[0].getType());
                                 mlir::Value product = b.create<nn::MulOp>(made, type, in[0], in[0]);
                                 auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
                                 return {b.create<nn::SumOp>(made, RankedTensorType::get({}, b.getF32Type()), product,
                                                             b.getDenseI64ArrayAttr(dims), b.getBoolAttr(false))};
                               });
      squares.push_back(moves_.on(square[0], place, "clip_grad_norm needs the norm of all gradients"));
    }
    mlir::Location loc = function_.getLoc();
    mlir::Value coefficient =
        make_apply(builder_, loc, place, squares, [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
          mlir::Value sum = in[0];
          for (mlir::Value square : in.drop_front()) sum = b.create<nn::AddOp>(loc, sum.getType(), sum, square);
          return {b.create<nn::ClipCoefficientOp>(loc, sum.getType(), sum, max_norm)};
        })[0];
    for (mlir::Value& gradient : gradients) {
      mlir::Value factor = moves_.on(coefficient, scalars_for(layout_of(gradient)), "clip_grad_norm scales every gradient");
      mlir::Location made = made_at(gradient);
      gradient = make_apply(builder_, made, layout_of(gradient), {gradient, factor},
                            [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
                              return {b.create<nn::MulOp>(made, in[0].getType(), in[0], in[1])};
                            })[0];
    }
  }

  /// `old` if a gradient isn't finite, else `updated`. All other users of `updated` take this value, so that each state has one
  /// kernel.
  mlir::Value kept(OpBuilder& b, mlir::Value old, mlir::Value updated, mlir::Value nonfinite) {
    auto op = b.create<nn::KeepUnlessFiniteOp>(updated.getLoc(), updated.getType(), old, updated, nonfinite);
    op->moveAfter(updated.getDefiningOp());
    updated.replaceAllUsesExcept(op, op);
    return op;
  }

  void update(StringAttr name, mlir::Value gradient) {
    mlir::Value parameter = parameters_.at(name.getValue());
    mlir::Location made = made_at(gradient);
    // If gradients are in shares, so is the update, whether each replica has the whole parameter or a share.
    const bool shares = isa<dist::ShardedAttr>(layout_of(gradient));
    const auto found = groups_.find(name.getValue());
    const Group group = found != groups_.end() ? found->second : Group{arguments_};
    Attribute place = shares ? layout_of(gradient) : layout_of(parameter), home = layout_of(parameter);
    if (home != place && shares)
      parameter = builder_.create<dist::ShardOp>(parameter.getLoc(), gradient.getType(), parameter,
                                                 builder_.getStringAttr("each replica updates its share of the parameter"));
    SmallVector<mlir::Value> inputs = {parameter,
                                       moves_.on(gradient, place, "the parameter lives on " + dist::in_words(place))};
    SmallVector<StringRef> operands = {"parameter", "gradient"};
    names_.push_back(name);
    for (StringRef state : optimizer_.states(group.arguments)) {
      std::string full = (name.getValue() + "." + state).str();
      inputs.push_back(add_argument(function_, parameter.getType(), "state", full));
      operands.push_back(state);
      names_.push_back(builder_.getStringAttr(full));
    }
    for (const OptimizerScalar& scalar : optimizer_.scalars(group.arguments)) {
      inputs.push_back(this->scalar(scalar, group.rate, scalars_for(place)));
      operands.push_back(scalar.name);
    }
    if (scaling_) inputs.push_back(scaling_->nonfinite(scalars_for(place)));
    // At the parameter's layer, so that the update is found with it.
    auto updated = make_apply(builder_, made, place, inputs, [&](OpBuilder& b, ValueRange in) {
      UpdateOperands by_name;
      // Without the count of elements that aren't finite: no optimiser takes it.
      for (auto [operand, value] : llvm::zip(operands, in)) by_name[operand] = value;
      auto values = optimizer_.build(b, made, group.arguments, by_name);
      if (!scaling_) return values;
      for (auto [i, value] : llvm::enumerate(values)) value = kept(b, in[i == 0 ? 0 : i + 1], value, in.back());
      return values;
    });
    if (home != place)
      updated[0] = moves_.whole(updated[0], "each replica keeps the parameter: it needs the shares that others updated");
    llvm::append_range(updated_, updated);
  }

  func::FuncOp function_;
  Operation* end_;
  OpBuilder builder_;
  Moves moves_;
  std::optional<LossScaling> scaling_;
  const Optimizer& optimizer_;
  OptimizerArguments arguments_;
  llvm::StringMap<BlockArgument> parameters_;
  llvm::StringMap<Group> groups_;                                ///< by parameter
  SmallVector<Attribute> names_;                                 ///< nn.updates
  SmallVector<mlir::Value> updated_;                             ///< their new values
  DenseMap<std::pair<Attribute, Attribute>, mlir::Value> made_;  ///< scalars, by name and place
};

struct DistOptimize : impl::DistOptimizeBase<DistOptimize> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(nn::kGradients)) return;
    if (!function->hasAttr(nn::kOptimizer)) {
      function.emitError("has gradients, but no nn.optimizer");
      return signalPassFailure();
    }
    auto arguments = function->getAttrOfType<DictionaryAttr>(nn::kOptimizer);
    const Optimizer* optimizer = find_optimizer(OptimizerArguments{arguments}.type());
    if (!optimizer) {
      function.emitError("there is no optimizer '") << OptimizerArguments{arguments}.type() << "'";
      return signalPassFailure();
    }
    Optimization(function, *optimizer).run();
  }
};

}  // namespace
}  // namespace sheaf::passes
