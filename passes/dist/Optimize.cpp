// dist-optimize: gradients become the parameters' new values, where the parameters live.
#include "passes/Arguments.h"
#include "passes/dist/Apply.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sheaf::passes {
#define GEN_PASS_DEF_DISTOPTIMIZE
#include "passes/Passes.h.inc"

using namespace mlir;
using dist::PlacedType;

namespace {

/// The optimiser's arguments (frontend/signatures.cpp has their names and defaults).
struct Arguments {
  DictionaryAttr dictionary;
  StringRef type() const { return dictionary.getAs<StringAttr>("type").getValue(); }
  double number(mlir::Attribute attribute) const {
    if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute)) return static_cast<double>(integer.getInt());
    return attribute ? cast<FloatAttr>(attribute).getValueAsDouble() : 0;
  }
  double number(StringRef name) const { return number(dictionary.get(name)); }
  double beta(unsigned i) const { return number(cast<ArrayAttr>(dictionary.get("betas"))[i]); }
  bool flag(StringRef name) const {
    auto flag = dictionary.getAs<BoolAttr>(name);
    return flag && flag.getValue();
  }
};

RankedTensorType tensor_of(mlir::Value value) { return cast<PlacedType>(value.getType()).getTensor(); }
Attribute layout_of(mlir::Value value) { return cast<PlacedType>(value.getType()).getLayout(); }

class Optimizer {
 public:
  explicit Optimizer(func::FuncOp function)
      : function_(function), end_(function.getBody().front().getTerminator()), builder_(end_),
        arguments_{function->getAttrOfType<DictionaryAttr>(nn::kOptimizer)} {}

  void run() {
    auto gradients = function_->getAttrOfType<ArrayAttr>(nn::kGradients);
    auto known = function_->getAttrOfType<ArrayAttr>(nn::kUpdates);
    SmallVector<mlir::Value> results(end_->getOperands()), values(ArrayRef(results).take_back(gradients.size()));
    results.resize(results.size() - gradients.size());
    if (known) llvm::append_range(names_, known);
    if (auto norm = function_->getAttrOfType<FloatAttr>(nn::kClipNorm)) clip(values, norm);
    for (auto [name, gradient] : llvm::zip(gradients, values)) update(cast<StringAttr>(name), gradient);
    llvm::append_range(results, updated_);
    end_->setOperands(results);
    function_->removeAttr(nn::kGradients);
    function_->setAttr(nn::kUpdates, builder_.getArrayAttr(names_));
    function_.setType(builder_.getFunctionType(function_.getArgumentTypes(), end_->getOperandTypes()));
  }

 private:
  /// `value` on `place`, moved there once.
  mlir::Value on(mlir::Value value, Attribute place, const std::string& reason) {
    if (layout_of(value) == place) return value;
    mlir::Value& moved = moved_[{value, place}];
    if (!moved)
      moved = builder_.create<dist::TransferOp>(value.getLoc(), PlacedType::get(function_.getContext(), tensor_of(value), place), value,
                                                builder_.getStringAttr(reason));
    return moved;
  }

  /// A 0-dimensional setting on `place`.
  mlir::Value setting(StringRef name, mlir::Type element, Attribute place) {
    mlir::Value value = find_argument(function_, "setting", name);
    if (!value) {
      auto host = dist::HostAttr::get(function_.getContext());
      value = add_argument(function_, PlacedType::get(function_.getContext(), RankedTensorType::get({}, element), host), "setting", name);
    }
    return on(value, place, "the optimiser's setting '" + name.str() + "' is needed where the parameters are");
  }

  /// All gradients times min(1, max_norm / norm), the norm taken over all of them where the first one is.
  void clip(MutableArrayRef<mlir::Value> gradients, FloatAttr max_norm) {
    if (gradients.empty()) return;
    Attribute place = layout_of(gradients[0]);
    SmallVector<mlir::Value> squares;
    for (mlir::Value gradient : gradients) {
      auto square = make_apply(builder_, gradient.getLoc(), layout_of(gradient), {gradient}, [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
        auto type = cast<RankedTensorType>(in[0].getType());
        mlir::Value product = b.create<nn::MulOp>(gradient.getLoc(), type, in[0], in[0]);
        auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
        return {b.create<nn::SumOp>(gradient.getLoc(), RankedTensorType::get({}, b.getF32Type()), product, b.getDenseI64ArrayAttr(dims), b.getBoolAttr(false))};
      });
      squares.push_back(on(square[0], place, "clip_grad_norm needs the norm of all gradients"));
    }
    mlir::Location loc = function_.getLoc();
    mlir::Value coefficient = make_apply(builder_, loc, place, squares, [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
      mlir::Value sum = in[0];
      for (mlir::Value square : in.drop_front()) sum = b.create<nn::AddOp>(loc, sum.getType(), sum, square);
      return {b.create<nn::ClipCoefficientOp>(loc, sum.getType(), sum, max_norm)};
    })[0];
    for (mlir::Value& gradient : gradients) {
      mlir::Value factor = on(coefficient, layout_of(gradient), "clip_grad_norm scales every gradient");
      gradient = make_apply(builder_, gradient.getLoc(), layout_of(gradient), {gradient, factor}, [&](OpBuilder& b, ValueRange in) -> SmallVector<mlir::Value> {
        return {b.create<nn::MulOp>(gradient.getLoc(), in[0].getType(), in[0], in[1])};
      })[0];
    }
  }

  void update(StringAttr name, mlir::Value gradient) {
    mlir::Value parameter = find_argument(function_, "parameter", name.getValue());
    Attribute place = layout_of(parameter);
    gradient = on(gradient, place, "the parameter lives on " + dist::in_words(place));
    mlir::Type f32 = builder_.getF32Type(), i64 = builder_.getI64Type();
    SmallVector<mlir::Value> inputs = {parameter, gradient};
    SmallVector<StringAttr> updated_names = {name};
    auto state = [&](StringRef suffix) {
      std::string full = (name.getValue() + "." + suffix).str();
      inputs.push_back(add_argument(function_, parameter.getType(), "state", full));
      updated_names.push_back(builder_.getStringAttr(full));
    };
    StringRef type = arguments_.type();
    bool momentum = arguments_.number("momentum") != 0, amsgrad = arguments_.flag("amsgrad"), centered = arguments_.flag("centered");
    if (type == "SGD" || type == "RMSprop") {
      if (type == "RMSprop") state("square_avg");
      if (type == "RMSprop" && centered) state("grad_avg");
      if (momentum) state("momentum_buffer");
      inputs.push_back(setting("lr", f32, place));
      if (momentum) inputs.push_back(setting("step", i64, place));
    } else {
      state("exp_avg");
      state("exp_avg_sq");
      if (amsgrad) state("max_exp_avg_sq");
      inputs.push_back(setting("lr", f32, place));
      inputs.push_back(setting("bias_correction1", f32, place));
      inputs.push_back(setting("bias_correction2", f32, place));
    }
    // At the parameter's layer, so that the update is found with it.
    auto results = make_apply(builder_, gradient.getLoc(), place, inputs, [&](OpBuilder& b, ValueRange in) {
      return type == "SGD" ? sgd(b, gradient.getLoc(), in) : type == "RMSprop" ? rmsprop(b, gradient.getLoc(), in) : adam(b, gradient.getLoc(), in);
    });
    llvm::append_range(updated_, results);
    llvm::append_range(names_, updated_names);
  }

  SmallVector<mlir::Value> sgd(OpBuilder& b, mlir::Location loc, ValueRange in) {
    FloatAttr decay = b.getF64FloatAttr(arguments_.number("weight_decay")), none = b.getF64FloatAttr(0);
    BoolAttr maximize = b.getBoolAttr(arguments_.flag("maximize")), no = b.getBoolAttr(false);
    FloatAttr momentum = b.getF64FloatAttr(arguments_.number("momentum"));
    mlir::Value p = in[0], g = in[1];
    auto type = p.getType();
    if (momentum.getValue().isZero()) return {b.create<nn::SgdUpdateOp>(loc, type, p, g, in[2], mlir::Value(), none, decay, maximize)};
    mlir::Value buffer = in[2], lr = in[3], step = in[4];
    mlir::Value next = b.create<nn::SgdMomentumOp>(loc, type, buffer, g, p, step, momentum, b.getF64FloatAttr(arguments_.number("dampening")), decay, maximize);
    mlir::Value updated = arguments_.flag("nesterov")
                              ? b.create<nn::SgdUpdateOp>(loc, type, p, g, lr, next, momentum, decay, maximize)
                              : b.create<nn::SgdUpdateOp>(loc, type, p, next, lr, mlir::Value(), none, none, no);
    return {updated, next};
  }

  SmallVector<mlir::Value> adam(OpBuilder& b, mlir::Location loc, ValueRange in) {
    bool decoupled = arguments_.type() == "AdamW", amsgrad = arguments_.flag("amsgrad");
    double weight_decay = arguments_.number("weight_decay");
    FloatAttr decay = b.getF64FloatAttr(decoupled ? 0 : weight_decay);
    BoolAttr maximize = b.getBoolAttr(arguments_.flag("maximize"));
    mlir::Value p = in[0], g = in[1];
    auto type = p.getType();
    mlir::Value m = b.create<nn::AdamFirstMomentOp>(loc, type, in[2], g, p, b.getF64FloatAttr(arguments_.beta(0)), decay, maximize);
    mlir::Value v = b.create<nn::AdamSecondMomentOp>(loc, type, in[3], g, p, b.getF64FloatAttr(arguments_.beta(1)), decay, maximize);
    mlir::Value largest = amsgrad ? b.create<nn::AdamMaxOp>(loc, type, in[4], v).getResult() : mlir::Value();
    ValueRange settings = in.take_back(3);
    mlir::Value updated = b.create<nn::AdamUpdateOp>(loc, type, p, m, amsgrad ? largest : v, settings[0], settings[1], settings[2],
                                                     b.getF64FloatAttr(arguments_.number("eps")), b.getF64FloatAttr(decoupled ? weight_decay : 0));
    SmallVector<mlir::Value> results = {updated, m, v};
    if (amsgrad) results.push_back(largest);
    return results;
  }

  SmallVector<mlir::Value> rmsprop(OpBuilder& b, mlir::Location loc, ValueRange in) {
    FloatAttr decay = b.getF64FloatAttr(arguments_.number("weight_decay")), none = b.getF64FloatAttr(0);
    FloatAttr alpha = b.getF64FloatAttr(arguments_.number("alpha"));
    BoolAttr maximize = b.getBoolAttr(arguments_.flag("maximize")), no = b.getBoolAttr(false);
    bool centered = arguments_.flag("centered");
    double momentum = arguments_.number("momentum");
    mlir::Value p = in[0], g = in[1];
    auto type = p.getType();
    SmallVector<mlir::Value> states;
    states.push_back(b.create<nn::AdamSecondMomentOp>(loc, type, in[2], g, p, alpha, decay, maximize));
    mlir::Value average;
    if (centered) states.push_back(average = b.create<nn::AdamFirstMomentOp>(loc, type, in[3], g, p, alpha, decay, maximize));
    mlir::Value direction = b.create<nn::RmspropDirectionOp>(loc, type, g, p, states[0], average, b.getF64FloatAttr(arguments_.number("eps")), decay, maximize);
    mlir::Value lr = in[momentum != 0 ? in.size() - 2 : in.size() - 1];
    if (momentum != 0) {
      mlir::Value buffer = in[centered ? 4 : 3], step = in.back();
      direction = b.create<nn::SgdMomentumOp>(loc, type, buffer, direction, p, step, b.getF64FloatAttr(momentum), none, none, no);
      states.push_back(direction);
    }
    SmallVector<mlir::Value> results = {b.create<nn::SgdUpdateOp>(loc, type, p, direction, lr, mlir::Value(), none, none, no)};
    llvm::append_range(results, states);
    return results;
  }

  func::FuncOp function_;
  Operation* end_;
  OpBuilder builder_;
  Arguments arguments_;
  SmallVector<Attribute> names_;        ///< nn.updates
  SmallVector<mlir::Value> updated_;    ///< the values that go with the new ones
  DenseMap<std::pair<mlir::Value, Attribute>, mlir::Value> moved_;
};

struct DistOptimize : impl::DistOptimizeBase<DistOptimize> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(nn::kGradients)) return;
    if (!function->hasAttr(nn::kOptimizer)) {
      function.emitError("has gradients, but no nn.optimizer");
      return signalPassFailure();
    }
    Optimizer(function).run();
  }
};

}  // namespace
}  // namespace sheaf::passes
