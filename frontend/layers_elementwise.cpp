// Functions of one element of each input that have no class in torch.nn: arithmetic, comparisons, logic.
// ir/ElementFunctions.cpp defines what they compute, under the name given last.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

using Kind = ArgumentType::Kind;

LayerType unary(std::string name, std::string summary, std::string function) {
  return {.name = std::move(name), .summary = std::move(summary), .function = std::move(function)};
}

/// With two inputs, or with one and `number`.
LayerType binary(std::string name, std::string summary, std::string function,
                 Argument number = typed("other", Kind::scalar, Json(nullptr))) {
  auto check = [argument = number.name](LayerCheck& layer) {
    if (layer.inputs == any_number) return;
    const bool given = !layer.arguments[argument].is_null();
    if (given == (layer.inputs == 2))
      layer.refuse(argument.c_str(), given ? "replaces a second input, but there are two" : "is needed with one input");
  };
  return {.name = std::move(name),
          .summary = std::move(summary),
          .arguments = {nullable(std::move(number))},
          .most_inputs = 2,
          .check = std::move(check),
          .function = std::move(function)};
}

LayerType division() {
  LayerType row = binary(
      "Div", "x / y; to the next integer below or towards 0 where `rounding_mode` says so (of integers 0 where y is 0)", "div");
  row.arguments.push_back(nullable(choice("rounding_mode", {"floor", "trunc"}, Json(nullptr))));
  return row;
}

LayerType clamp() {
  LayerType row = unary("Clamp", "x, but at least `min` and at most `max`", "clamp");
  row.arguments = {nullable(number("min", Json(nullptr))), nullable(number("max", Json(nullptr)))};
  row.check = [](LayerCheck& layer) {
    if (layer.arguments["min"].is_null() && layer.arguments["max"].is_null()) layer.refuse("min", "or 'max' must be given");
  };
  return row;
}

}  // namespace

std::vector<LayerType> elementwise_layers() {
  Argument shape = typed("shape", Kind::shape);
  shape.type.minimum = -1;
  shape.type.choices = {"batch"};
  Argument dtype = choice("dtype", {"float32", "int64", "int32", "uint8", "bool", "float16", "bfloat16"}, Json());
  dtype.fallback.reset();
  return {
      binary("Add", "x + y, broadcast as in PyTorch; y is the second input, or the number `other`", "add"),
      binary("Sub", "x - y", "sub"),
      binary("Mul", "x · y", "mul"),
      division(),
      binary("Remainder", "what a division to the next integer below leaves; of integers x where y is 0", "remainder"),
      binary("Fmod", "what a division to the next integer towards 0 leaves; of integers x where y is 0", "fmod"),
      binary("Minimum", "the smaller of x and y", "minimum"),
      binary("Maximum", "the larger of x and y", "maximum"),
      binary("Pow", "x to the power of y, or of `exponent`", "pow", number("exponent", Json(nullptr))),
      unary("Exp", "eˣ", ""),
      unary("Log", "log x", "log"),
      unary("Log1p", "log(1 + x)", "log1p"),
      unary("Expm1", "eˣ - 1", "expm1"),
      unary("Sqrt", "√x", "sqrt"),
      unary("Rsqrt", "1 / √x", ""),
      unary("Reciprocal", "1 / x", "reciprocal"),
      unary("Abs", "the absolute value", "abs"),
      unary("Neg", "-x", "neg"),
      unary("Detach", "x, but no gradient goes through", "detach"),
      unary("Sign", "-1, 0 or 1", "sign"),
      unary("Sin", "sin x", "sin"),
      unary("Cos", "cos x", "cos"),
      unary("Asin", "the angle in [-π/2, π/2] whose sine is x", "asin"),
      unary("Acos", "the angle in [0, π] whose cosine is x", "acos"),
      unary("Atan", "the angle in [-π/2, π/2] whose tangent is x", "atan"),
      {.name = "Atan2",
       .summary = "the angle in [-π, π] of the point with the coordinates y and x; two inputs, broadcast",
       .least_inputs = 2,
       .most_inputs = 2,
       .function = "atan2"},
      unary("Sinh", "(eˣ - e⁻ˣ) / 2", "sinh"),
      unary("Cosh", "(eˣ + e⁻ˣ) / 2", "cosh"),
      unary("Asinh", "log(x + √(x² + 1))", "asinh"),
      unary("Acosh", "log(x + √(x² - 1))", "acosh"),
      unary("Atanh", "log((1 + x) / (1 - x)) / 2", "atanh"),
      unary("Erf", "the error function", "erf"),
      unary("Floor", "the next integer below", "floor"),
      unary("Ceil", "the next integer above", "ceil"),
      unary("Round", "the nearest integer, halves to even", "round"),
      unary("Trunc", "the next integer towards 0", "trunc"),
      clamp(),
      binary("Eq", "x = y, a bool", "eq"),
      binary("Ne", "x ≠ y, a bool", "ne"),
      binary("Lt", "x < y, a bool", "lt"),
      binary("Le", "x ≤ y, a bool", "le"),
      binary("Gt", "x > y, a bool", "gt"),
      binary("Ge", "x ≥ y, a bool", "ge"),
      binary("LogicalAnd", "whether both are true, or not 0", "logical_and"),
      binary("LogicalOr", "whether one is true, or not 0", "logical_or"),
      unary("LogicalNot", "whether x is false, or 0", "logical_not"),
      {.name = "Where",
       .summary = "x where the condition is true, y elsewhere; inputs condition (bool), x, y",
       .least_inputs = 3,
       .most_inputs = 3,
       .function = "where"},
      {.name = "Cast", .summary = "x in another type", .arguments = {dtype}},
      {.name = "Expand",
       .summary = "x repeated to `shape`: -1 keeps a size, \"batch\" is that of dimension `like_dim` of the second input; "
                  "dimensions may be added in front",
       .arguments = {shape, typed("like_dim", Kind::integer, Json(0))},
       .most_inputs = 2},
  };
}

}  // namespace sheaf::frontend
