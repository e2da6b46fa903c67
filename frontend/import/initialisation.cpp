// Initial distributions: PyTorch's defaults (each layer's reset_parameters) and torch.nn.init.
#include "frontend/import/import.h"

#include <cmath>

namespace sheaf {
namespace {

Json uniform(double bound) { return {{"type", "uniform"}, {"low", -bound}, {"high", bound}}; }
Json normal(double mean, double std) { return {{"type", "normal"}, {"mean", mean}, {"std", std}}; }
Json constant(double value) { return {{"type", "constant"}, {"value", value}}; }

/// The number of inputs that an element of the result depends on, and of outputs that use an input (torch.nn.init's fan_in and
/// fan_out).
struct Fans {
  double in, out;
};
Fans fans_of(const std::vector<int64_t>& shape) {
  double receptive = 1;
  for (size_t i = 2; i < shape.size(); ++i) receptive *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape.size() > 1 ? shape[1] : 1) * receptive, static_cast<double>(shape[0]) * receptive};
}

/// torch.nn.init.calculate_gain.
double gain_of(const std::string& nonlinearity, double slope) {
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu") return std::sqrt(2.0 / (1 + slope * slope));
  if (nonlinearity == "selu") return 0.75;
  return 1;
}

}  // namespace

Json default_initialisation(const frontend::Layer& layer, const std::string& own_name, const std::vector<int64_t>& shape) {
  const std::string& type = layer.type;
  if (layer.xavier && shape.size() > 1) {
    const Fans fans = fans_of(shape);
    return uniform(std::sqrt(6 / (fans.in + fans.out)));
  }
  if (type == "Embedding") {
    Json init = normal(0, 1);
    if (!layer.arguments["padding_idx"].is_null()) init["zero_row"] = layer.arguments["padding_idx"];
    return init;
  }
  if (type == "EmbeddingBag") return normal(0, 1);
  if (type == "LSTM" || type == "GRU" || type == "RNN")
    return uniform(1 / std::sqrt(layer.arguments["hidden_size"].get<double>()));
  if (type == "MultiheadAttention") {
    double width = layer.arguments["embed_dim"].get<double>();
    if (own_name == "in_proj_weight") return uniform(std::sqrt(6.0 / (4 * width)));
    return own_name == "out_proj.weight" ? uniform(1 / std::sqrt(width)) : constant(0);
  }
  const Json& a = layer.arguments;
  if (type == "Bilinear") return uniform(1 / std::sqrt(a["in1_features"].get<double>()));
  const bool convolves = a.contains("in_channels") && a.contains("kernel_size");
  if (type == "Linear" || convolves) {
    // kaiming_uniform(a = √5) is ±1/√fan_in, for the weight and, by definition, for the bias.
    double fan_in = 1;
    if (!convolves) {
      fan_in = a["in_features"].get<double>();
    } else {
      // Uses the weight's dimension 1: input channels of a convolution, output channels of a transposed one.
      bool transposed = a.contains("output_padding");
      fan_in = a[transposed ? "out_channels" : "in_channels"].get<double>() / a["groups"].get<double>();
      for (const Json& size : a["kernel_size"]) fan_in *= size.get<double>();
    }
    return uniform(1 / std::sqrt(fan_in));
  }
  return constant(own_name == "weight" ? 1 : 0);  // norms
}

Json definite_distribution(const Json& distribution, const std::vector<int64_t>& shape) {
  std::string type = distribution["type"].get<std::string>();
  if (type == "normal") return normal(distribution["mean"].get<double>(), distribution["std"].get<double>());
  if (type == "uniform")
    return {{"type", "uniform"}, {"low", distribution["a"].get<double>()}, {"high", distribution["b"].get<double>()}};
  if (type == "constant") return constant(distribution["val"].get<double>());
  if (type == "ones" || type == "zeros") return constant(type == "ones" ? 1 : 0);
  Fans fans = fans_of(shape);
  double std = 0;
  if (type == "xavier_uniform" || type == "xavier_normal") {
    std = distribution["gain"].get<double>() * std::sqrt(2.0 / (fans.in + fans.out));
  } else {
    double fan = distribution["mode"] == "fan_out" ? fans.out : fans.in;
    std = gain_of(distribution["nonlinearity"].get<std::string>(), distribution["a"].get<double>()) / std::sqrt(fan);
  }
  // A uniform distribution with that standard deviation.
  return type == "xavier_uniform" || type == "kaiming_uniform" ? uniform(std::sqrt(3.0) * std) : normal(0, std);
}

}  // namespace sheaf
