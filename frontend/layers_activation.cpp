// Activations, softmax, dropout: layers without parameters that keep their input's shape.
#include "frontend/layer_table.h"

namespace sheaf::frontend {
namespace {

LayerType activation(std::string name, std::string summary, std::vector<Argument> arguments) {
  return {.name = std::move(name), .summary = std::move(summary), .arguments = std::move(arguments)};
}

void check_hardtanh(LayerCheck& layer) {
  if (layer.number("max_val") <= layer.number("min_val")) layer.refuse("max_val", "must be above min_val");
}

}  // namespace

std::vector<LayerType> activation_layers() {
  Argument inplace = ignored("inplace");
  Argument dim = mended(typed("dim", ArgumentType::Kind::integer),
                        "PyTorch's choice without 'dim' is deprecated; classes stand in dimension 1, features in -1");
  LayerType hardtanh = activation("Hardtanh", "clamp(x, min_val, max_val)",
                                  {number("min_val", Json(-1.0)), number("max_val", Json(1.0)), inplace});
  hardtanh.check = check_hardtanh;
  return {
      activation("ReLU", "max(x, 0)", {inplace}),
      activation("ReLU6", "clamp(x, 0, 6)", {inplace}),
      activation("LeakyReLU", "x, or negative_slope · x below 0", {number("negative_slope", Json(0.01)), inplace}),
      activation("ELU", "x, or alpha · (eˣ - 1) below 0", {number("alpha", Json(1.0)), inplace}),
      activation("SiLU", "x · sigmoid(x)", {inplace}),
      activation("GELU", "x · Φ(x), or its tanh approximation", {choice("approximate", {"none", "tanh"}, "none")}),
      activation("Tanh", "tanh(x)", {}),
      activation("Sigmoid", "1 / (1 + e⁻ˣ)", {}),
      hardtanh,
      activation("Softmax", "along `dim`", {dim}),
      activation("LogSoftmax", "along `dim`", {dim}),
      activation("Dropout", "the identity in inference", {probability("p", Json(0.5)), inplace}),
      activation("Identity", "x", {}),
  };
}

}  // namespace sheaf::frontend
