// Builders of element-wise layers, of dropouts, and of values without inputs.
#include "frontend/import/layer_context.h"
#include "frontend/layer_table.h"
#include "ir/ElementFunctions.h"
#include "ir/Nn/Dropout.h"

#include <limits>

using namespace mlir;

namespace sheaf::import {
namespace {

Values build_map(const Context& c, llvm::StringRef function) {
  std::vector<double> numbers;
  for (const frontend::Argument& argument : frontend::find_layer_type(c.layer.type)->arguments) {
    if (!c.layer.arguments.contains(argument.name) || c.argument(argument.name.c_str()).is_null()) continue;
    const Json& value = c.argument(argument.name.c_str());
    numbers.push_back(value.is_boolean() ? static_cast<double>(value.get<bool>()) : value.get<double>());
  }
  return c.one<nn::MapOp>(ValueRange(c.inputs), c.attributes().getStringAttr(function),
                          c.attributes().getDenseF64ArrayAttr(numbers));
}

}  // namespace

Values build_function(const Context& c) { return build_map(c, frontend::find_layer_type(c.layer.type)->function); }

bool is_function(const std::string& type) {
  const frontend::LayerType* row = frontend::find_layer_type(type);
  return row && ir::find_element_function(row->function);
}

namespace {

/// With two inputs it is an op of its own, which passes and gradients know.
template <typename Op>
Values build_arithmetic(const Context& c) {
  return c.inputs.size() == 2 ? c.one<Op>(c.inputs[0], c.inputs[1]) : build_function(c);
}
Values build_div(const Context& c) {
  const Json& rounding = c.argument("rounding_mode");
  if (rounding.is_null() && c.inputs.size() == 2) return c.one<nn::DivOp>(c.inputs[0], c.inputs[1]);
  std::vector<double> numbers;
  if (c.inputs.size() == 1)
    numbers.push_back(c.argument("other").is_boolean() ? c.argument("other").get<bool>() : c.argument("other").get<double>());
  const char* function = rounding.is_null() ? "div" : rounding == "floor" ? "floor_divide" : "trunc_divide";
  return c.one<nn::MapOp>(ValueRange(c.inputs), c.attributes().getStringAttr(function),
                          c.attributes().getDenseF64ArrayAttr(numbers));
}
Values build_pow(const Context& c) { return build_map(c, c.inputs.size() == 2 ? "pow" : "power"); }
Values build_clamp(const Context& c) {
  const double infinity = std::numeric_limits<double>::infinity();
  auto bound = [&](const char* name, double none) {
    return c.argument(name).is_null() ? none : c.argument(name).get<double>();
  };
  return c.one<nn::MapOp>(ValueRange(c.inputs), c.attributes().getStringAttr("clamp"),
                          c.attributes().getDenseF64ArrayAttr({bound("min", -infinity), bound("max", infinity)}));
}
Values build_prelu(const Context& c) {
  return c.one<nn::MapOp>(ValueRange{c.x(), c.parameter("weight")}, c.attributes().getStringAttr("prelu"),
                          c.attributes().getDenseF64ArrayAttr({}));
}

/// A tensor from the weights, or a constant: the function's argument, under the layer's name.
Values build_value(const Context& c) {
  mlir::Value value = c.parameter("");
  mlir::Type element = cast<mlir::TensorType>(value.getType()).getElementType();
  return {c.importer.make<nn::IdentityOp>(c.loc, element, 1u, value)->getResult(0)};
}

Values build_cast(const Context& c) {
  const std::string to = c.argument("dtype").get<std::string>();
  return {
      c.importer.make<nn::CastOp>(c.loc, nn::element_type(c.loc.getContext(), to), 1u, c.x(), c.attributes().getStringAttr(to))
          ->getResult(0)};
}
Values build_expand(const Context& c) {
  return c.one<nn::ExpandOp>(c.x(), c.inputs.size() > 1 ? c.inputs[1] : mlir::Value(), c.integers("shape"),
                             c.integer("like_dim"));
}

Values build_dropout(const Context& c, llvm::StringRef mask, int64_t spatial_dims = 0) {
  return c.one<nn::DropoutOp>(c.x(), c.number("p"), mask.empty() ? mlir::StringAttr() : c.attributes().getStringAttr(mask),
                              spatial_dims ? c.attributes().getI64IntegerAttr(spatial_dims) : IntegerAttr());
}

/// The mean slope; a training program draws one for each element.
Values build_rrelu(const Context& c) {
  const double lower = c.argument("lower").get<double>(), upper = c.argument("upper").get<double>();
  Values results = c.one<nn::LeakyReluOp>(c.x(), c.attributes().getF64FloatAttr((lower + upper) / 2));
  if (c.importer.training() && lower < upper)
    results[0].getDefiningOp()->setAttr(nn::kSlopes, c.attributes().getDenseF64ArrayAttr({lower, upper}));
  return results;
}

}  // namespace

Builders elementwise_builders() {
  return {
      {"PReLU", build_prelu},
      {"RReLU", build_rrelu},
      {"GLU", [](const Context& c) { return c.one<nn::GluOp>(c.x(), c.integer("dim")); }},
      {"Dropout", [](const Context& c) { return build_dropout(c, ""); }},
      {"Dropout1d", [](const Context& c) { return build_dropout(c, "channel", 1); }},
      {"Dropout2d", [](const Context& c) { return build_dropout(c, "channel", 2); }},
      {"Dropout3d", [](const Context& c) { return build_dropout(c, "channel", 3); }},
      {"AlphaDropout", [](const Context& c) { return build_dropout(c, "alpha"); }},
      {"FeatureAlphaDropout", [](const Context& c) { return build_dropout(c, "feature_alpha"); }},
      {"StochasticDepth", [](const Context& c) { return build_dropout(c, c.argument("mode").get<std::string>()); }},
      {"Add", build_arithmetic<nn::AddOp>},
      {"Sub", build_arithmetic<nn::SubOp>},
      {"Mul", build_arithmetic<nn::MulOp>},
      {"Div", build_div},
      {"Pow", build_pow},
      {"Exp", [](const Context& c) { return c.one<nn::ExpOp>(c.x()); }},
      {"Rsqrt", [](const Context& c) { return c.one<nn::RsqrtOp>(c.x(), c.attributes().getF64FloatAttr(0)); }},
      {"Clamp", build_clamp},
      {"Cast", build_cast},
      {"Expand", build_expand},
      {"Parameter", build_value},
      {"Buffer", build_value},
      {"Constant", build_value},
  };
}

}  // namespace sheaf::import
