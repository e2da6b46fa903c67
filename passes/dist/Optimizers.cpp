#include "passes/dist/Optimizers.h"

#include "ir/Nn/Nn.h"

namespace sheaf::passes {

using namespace mlir;

namespace {

double number_of(mlir::Attribute attribute) {
  if (auto integer = dyn_cast_or_null<IntegerAttr>(attribute)) return static_cast<double>(integer.getInt());
  return attribute ? cast<FloatAttr>(attribute).getValueAsDouble() : 0;
}

using Arguments = OptimizerArguments;
using Operands = UpdateOperands;
using Names = SmallVector<StringRef>;
using Scalars = SmallVector<OptimizerScalar>;
using Values = SmallVector<mlir::Value>;

/// p - lr · direction.
mlir::Value descend(OpBuilder& b, mlir::Location loc, const Operands& in, mlir::Value direction) {
  mlir::Value p = in.lookup("parameter");
  return b.create<nn::SgdUpdateOp>(loc, p.getType(), p, direction, in.lookup("lr"), mlir::Value(), b.getF64FloatAttr(0),
                                   b.getF64FloatAttr(0), b.getBoolAttr(false));
}

FloatAttr decay_of(OpBuilder& b, const Arguments& arguments) { return b.getF64FloatAttr(arguments.number("weight_decay")); }
BoolAttr maximize_of(OpBuilder& b, const Arguments& arguments) { return b.getBoolAttr(arguments.flag("maximize")); }

// SGD -------------------------------------------------------------------------------------------------------------

bool has_momentum(const Arguments& arguments) { return arguments.number("momentum") != 0; }

Names sgd_states(const Arguments& arguments) { return has_momentum(arguments) ? Names{"momentum_buffer"} : Names{}; }
Scalars sgd_scalars(const Arguments& arguments) {
  return has_momentum(arguments) ? Scalars{{"lr"}, {"step"}} : Scalars{{"lr"}};
}

Values sgd(OpBuilder& b, mlir::Location loc, const Arguments& arguments, const Operands& in) {
  mlir::Value p = in.lookup("parameter"), g = in.lookup("gradient"), lr = in.lookup("lr");
  auto type = p.getType();
  FloatAttr decay = decay_of(b, arguments), momentum = b.getF64FloatAttr(arguments.number("momentum"));
  BoolAttr maximize = maximize_of(b, arguments);
  if (!has_momentum(arguments))
    return {b.create<nn::SgdUpdateOp>(loc, type, p, g, lr, mlir::Value(), b.getF64FloatAttr(0), decay, maximize)};
  mlir::Value next = b.create<nn::SgdMomentumOp>(loc, type, in.lookup("momentum_buffer"), g, p, in.lookup("step"), momentum,
                                                 b.getF64FloatAttr(arguments.number("dampening")), decay, maximize);
  mlir::Value updated = arguments.flag("nesterov")
                            ? b.create<nn::SgdUpdateOp>(loc, type, p, g, lr, next, momentum, decay, maximize).getResult()
                            : descend(b, loc, in, next);
  return {updated, next};
}

// Adam, AdamW -----------------------------------------------------------------------------------------------------

Names adam_states(const Arguments& arguments) {
  return arguments.flag("amsgrad") ? Names{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"} : Names{"exp_avg", "exp_avg_sq"};
}

Scalars adam_scalars(const Arguments& arguments) {
  const auto correction = [&](unsigned i) {
    return [beta = arguments.beta(i)](OpBuilder& b, mlir::Location loc, mlir::Value step) -> mlir::Value {
      return b.create<nn::BiasCorrectionOp>(loc, RankedTensorType::get({}, b.getF32Type()), step, b.getF64FloatAttr(beta));
    };
  };
  return {{"lr"}, {"bias_correction1", correction(0)}, {"bias_correction2", correction(1)}};
}

/// `decay` goes into the gradient, `decoupled` into the parameter itself.
Values adam(OpBuilder& b, mlir::Location loc, const Arguments& arguments, const Operands& in, FloatAttr decay,
            FloatAttr decoupled) {
  mlir::Value p = in.lookup("parameter"), g = in.lookup("gradient");
  auto type = p.getType();
  BoolAttr maximize = maximize_of(b, arguments);
  mlir::Value m = b.create<nn::AdamFirstMomentOp>(loc, type, in.lookup("exp_avg"), g, p, b.getF64FloatAttr(arguments.beta(0)),
                                                  decay, maximize);
  mlir::Value v = b.create<nn::AdamSecondMomentOp>(loc, type, in.lookup("exp_avg_sq"), g, p,
                                                   b.getF64FloatAttr(arguments.beta(1)), decay, maximize);
  mlir::Value largest;
  if (arguments.flag("amsgrad")) largest = b.create<nn::AdamMaxOp>(loc, type, in.lookup("max_exp_avg_sq"), v);
  mlir::Value updated =
      b.create<nn::AdamUpdateOp>(loc, type, p, m, largest ? largest : v, in.lookup("lr"), in.lookup("bias_correction1"),
                                 in.lookup("bias_correction2"), b.getF64FloatAttr(arguments.number("eps")), decoupled);
  Values results = {updated, m, v};
  if (largest) results.push_back(largest);
  return results;
}
Values adam(OpBuilder& b, mlir::Location loc, const Arguments& arguments, const Operands& in) {
  return adam(b, loc, arguments, in, decay_of(b, arguments), b.getF64FloatAttr(0));
}
Values adamw(OpBuilder& b, mlir::Location loc, const Arguments& arguments, const Operands& in) {
  return adam(b, loc, arguments, in, b.getF64FloatAttr(0), decay_of(b, arguments));
}

// RMSprop ---------------------------------------------------------------------------------------------------------

Names rmsprop_states(const Arguments& arguments) {
  Names states = {"square_avg"};
  if (arguments.flag("centered")) states.push_back("grad_avg");
  if (has_momentum(arguments)) states.push_back("momentum_buffer");
  return states;
}

Values rmsprop(OpBuilder& b, mlir::Location loc, const Arguments& arguments, const Operands& in) {
  mlir::Value p = in.lookup("parameter"), g = in.lookup("gradient");
  auto type = p.getType();
  FloatAttr decay = decay_of(b, arguments), alpha = b.getF64FloatAttr(arguments.number("alpha")), none = b.getF64FloatAttr(0);
  BoolAttr maximize = maximize_of(b, arguments);
  Values states = {b.create<nn::AdamSecondMomentOp>(loc, type, in.lookup("square_avg"), g, p, alpha, decay, maximize)};
  mlir::Value average;
  if (arguments.flag("centered"))
    states.push_back(average = b.create<nn::AdamFirstMomentOp>(loc, type, in.lookup("grad_avg"), g, p, alpha, decay, maximize));
  mlir::Value direction = b.create<nn::RmspropDirectionOp>(loc, type, g, p, states[0], average,
                                                           b.getF64FloatAttr(arguments.number("eps")), decay, maximize);
  if (has_momentum(arguments)) {
    direction = b.create<nn::SgdMomentumOp>(loc, type, in.lookup("momentum_buffer"), direction, p, in.lookup("step"),
                                            b.getF64FloatAttr(arguments.number("momentum")), none, none, b.getBoolAttr(false));
    states.push_back(direction);
  }
  Values results = {descend(b, loc, in, direction)};
  llvm::append_range(results, states);
  return results;
}

constexpr Optimizer optimizers[] = {
    {"SGD", sgd_states, sgd_scalars, sgd},
    {"Adam", adam_states, adam_scalars, adam},
    {"AdamW", adam_states, adam_scalars, adamw},
    {"RMSprop", rmsprop_states, sgd_scalars, rmsprop},
};

}  // namespace

StringRef OptimizerArguments::type() const { return dictionary.getAs<StringAttr>("type").getValue(); }
double OptimizerArguments::number(StringRef name) const { return number_of(dictionary.get(name)); }
double OptimizerArguments::beta(unsigned i) const { return number_of(cast<ArrayAttr>(dictionary.get("betas"))[i]); }
bool OptimizerArguments::flag(StringRef name) const {
  auto flag = dictionary.getAs<BoolAttr>(name);
  return flag && flag.getValue();
}

const Optimizer* find_optimizer(StringRef name) {
  for (const Optimizer& optimizer : optimizers)
    if (optimizer.name == name) return &optimizer;
  return nullptr;
}

}  // namespace sheaf::passes
