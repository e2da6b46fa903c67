// Activations, softmax, dropout: layers without parameters that keep their input's shape.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

LayerType activation(std::string name, std::string summary, std::vector<Argument> arguments) {
  return {.name = std::move(name), .summary = std::move(summary), .arguments = std::move(arguments)};
}

/// ir/ElementFunctions.cpp defines what it computes.
LayerType function(std::string name, std::string summary, std::vector<Argument> arguments, std::string function) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .arguments = std::move(arguments),
          .function = std::move(function)};
}

LayerType prelu() {
  LayerType row = function("PReLU", "x, or weight · x below 0; one weight, or one a channel",
                           {positive("num_parameters", Json(1)), number("init", Json(0.25))}, "");
  row.parameters = [](const Json& a) { return std::vector<LayerParameter>{{"weight", {a["num_parameters"].get<int64_t>()}}}; };
  row.parameter_names = "weight";
  return row;
}

LayerType stochastic_depth() {
  Argument mode = choice("mode", {"row", "batch"}, Json());
  mode.fallback.reset();
  Argument p = probability("p", Json());
  p.fallback.reset();
  return {.name = "StochasticDepth",
          .summary = "the identity in inference; torchvision's: in training whole rows are zeroed, or the whole batch is",
          .arguments = {p, mode}};
}

void check_celu(LayerCheck& layer) {
  if (layer.number("alpha") == 0) layer.refuse("alpha", "must not be 0");
}

void check_hardtanh(LayerCheck& layer) {
  if (layer.number("max_val") <= layer.number("min_val")) layer.refuse("max_val", "must be above min_val");
}

LayerType rrelu(Argument inplace) {
  LayerType row =
      activation("RReLU", "x, or slope · x up to 0: each element's own slope from lower to upper in training, else their mean",
                 {number("lower", Json(1.0 / 8)), number("upper", Json(1.0 / 3)), std::move(inplace)});
  row.check = [](LayerCheck& layer) {
    if (layer.number("upper") < layer.number("lower")) layer.refuse("upper", "must not be below lower");
  };
  return row;
}

}  // namespace

std::vector<LayerType> activation_layers() {
  Argument inplace = ignored("inplace");
  Argument dim = mended(typed("dim", ArgumentType::Kind::integer),
                        "PyTorch's choice without 'dim' is deprecated; classes are in dimension 1, features in -1");
  LayerType hardtanh = activation("Hardtanh", "clamp(x, min_val, max_val)",
                                  {number("min_val", Json(-1.0)), number("max_val", Json(1.0)), inplace});
  hardtanh.check = check_hardtanh;
  LayerType celu = function("CELU", "x, or alpha · (e^(x / alpha) - 1) below 0", {number("alpha", Json(1.0)), inplace}, "celu");
  celu.check = check_celu;
  return {
      activation("ReLU", "max(x, 0)", {inplace}),
      activation("ReLU6", "clamp(x, 0, 6)", {inplace}),
      activation("LeakyReLU", "x, or negative_slope · x below 0", {number("negative_slope", Json(0.01)), inplace}),
      rrelu(inplace),
      activation("ELU", "x, or alpha · (eˣ - 1) below 0", {number("alpha", Json(1.0)), inplace}),
      activation("SiLU", "x · sigmoid(x)", {inplace}),
      activation("GELU", "x · Φ(x), or its tanh approximation", {choice("approximate", {"none", "tanh"}, "none")}),
      activation("Tanh", "tanh(x)", {}),
      activation("Sigmoid", "1 / (1 + e⁻ˣ)", {}),
      hardtanh,
      function("Hardswish", "x · clamp(x + 3, 0, 6) / 6", {inplace}, "hardswish"),
      function("Hardsigmoid", "clamp(x + 3, 0, 6) / 6", {inplace}, "hardsigmoid"),
      function("Softplus", "log(1 + e^(beta · x)) / beta, or x where beta · x is above threshold",
               {number("beta", Json(1.0)), number("threshold", Json(20.0))}, "softplus"),
      function("Mish", "x · tanh(log(1 + eˣ))", {inplace}, "mish"),
      function("SELU", "1.0507 · (x, or 1.6733 · (eˣ - 1) below 0)", {inplace}, "selu"),
      celu,
      function("LogSigmoid", "log(1 / (1 + e⁻ˣ))", {}, "log_sigmoid"),
      function("Tanhshrink", "x - tanh(x)", {}, "tanhshrink"),
      function("Softsign", "x / (1 + |x|)", {}, "softsign"),
      prelu(),
      function("Hardshrink", "x, or 0 for |x| up to lambd", {number("lambd", Json(0.5))}, "hardshrink"),
      function("Softshrink", "x less lambd towards 0", {not_negative("lambd", Json(0.5))}, "softshrink"),
      function("Threshold", "x, or value where x is not above threshold", {number("threshold"), number("value"), inplace},
               "threshold"),
      {.name = "GLU",
       .summary = "a · sigmoid(b), the halves of x along `dim`",
       .arguments = {typed("dim", ArgumentType::Kind::integer, Json(-1))}},
      activation("Softmax", "along `dim`", {dim}),
      activation("LogSoftmax", "along `dim`", {dim}),
      activation("Softmin", "the softmax of -x along `dim`", {dim}),
      activation("Softmax2d", "along the channels of `[N, C, H, W]` or `[C, H, W]`", {}),
      activation("Dropout", "the identity in inference", {probability("p", Json(0.5)), inplace}),
      activation("Dropout1d", "the identity in inference; in training whole channels are zeroed",
                 {probability("p", Json(0.5)), inplace}),
      activation("Dropout2d", "the same of images", {probability("p", Json(0.5)), inplace}),
      activation("Dropout3d", "the same of volumes", {probability("p", Json(0.5)), inplace}),
      activation("AlphaDropout", "the identity in inference; keeps mean and variance of what SELU gives",
                 {probability("p", Json(0.5)), inplace}),
      activation("FeatureAlphaDropout", "the same, but whole channels are zeroed", {probability("p", Json(0.5)), inplace}),
      stochastic_depth(),
      activation("Identity", "x", {}),
  };
}

}  // namespace sheaf::frontend
