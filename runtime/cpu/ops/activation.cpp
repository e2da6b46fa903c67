#include "runtime/cpu/ops/activation.h"

#include <cmath>

namespace sheaf {
namespace {

float number(const Json& object, const char* name, float otherwise) {
  auto it = object.find(name);
  if (it == object.end() || it->is_null()) return otherwise;
  require(it->is_number(), std::string("activation's '") + name + "' should be a number");
  return it->get<float>();
}

}  // namespace

std::optional<Activation> activation_of(const Operation& operation) {
  using dnnl::algorithm;
  const Json& attributes = operation.request.step.attributes;
  auto it = attributes.find("activation");
  if (it == attributes.end() || it->is_null()) return std::nullopt;
  require(it->is_object() && it->contains("kind") && (*it)["kind"].is_string(),
          "attribute 'activation' should be an object with a 'kind'");
  const auto kind = (*it)["kind"].get<std::string>();
  if (kind == "relu") return Activation{algorithm::eltwise_relu};
  if (kind == "leaky_relu") return Activation{algorithm::eltwise_relu, number(*it, "negative_slope", 0.01f)};
  if (kind == "elu") return Activation{algorithm::eltwise_elu, number(*it, "alpha", 1)};
  if (kind == "silu") return Activation{algorithm::eltwise_swish, 1};
  if (kind == "gelu") return Activation{algorithm::eltwise_gelu_erf};
  if (kind == "gelu_tanh") return Activation{algorithm::eltwise_gelu_tanh};
  if (kind == "tanh") return Activation{algorithm::eltwise_tanh};
  if (kind == "sigmoid") return Activation{algorithm::eltwise_logistic};
  if (kind == "hardtanh") return Activation{algorithm::eltwise_clip, number(*it, "min_val", -1), number(*it, "max_val", 1)};
  throw OperationError("activation '" + kind + "' is unknown");
}

std::optional<Activation> library_activation(const Operation& operation) {
  const auto activation = activation_of(operation);
  if (!activation) return activation;
  // oneDNN computes these two as a maximum; a slope other than 0 is a choice between x and its product.
  const bool relu = activation->algorithm == dnnl::algorithm::eltwise_relu && activation->alpha == 0;
  if (relu || activation->algorithm == dnnl::algorithm::eltwise_clip) operation.nan_cut = NanCut::product;
  return activation;
}

float apply(const Activation& activation, float x) {
  using dnnl::algorithm;
  const float alpha = activation.alpha;
  switch (activation.algorithm) {
    case algorithm::eltwise_relu: return x > 0 || std::isnan(x) ? x : alpha == 0 ? 0 : alpha * x;
    case algorithm::eltwise_elu: return x > 0 ? x : alpha * std::expm1(x);
    case algorithm::eltwise_swish: return x / (1 + std::exp(-alpha * x));
    case algorithm::eltwise_gelu_erf: return 0.5f * x * (1 + std::erf(x * 0.70710678118654752f));
    case algorithm::eltwise_gelu_tanh: return 0.5f * x * (1 + std::tanh(0.79788456080286536f * (x + 0.044715f * x * x * x)));
    case algorithm::eltwise_tanh: return std::tanh(x);
    case algorithm::eltwise_logistic: return 1 / (1 + std::exp(-x));
    case algorithm::eltwise_clip: return x < alpha ? alpha : x > activation.beta ? activation.beta : x;
    default: return x;
  }
}

dnnl::post_ops step_post_ops(const Operation& operation) {
  dnnl::post_ops post_ops;
  if (operation.has("residual")) post_ops.append_sum(1.f);
  if (auto activation = library_activation(operation))
    post_ops.append_eltwise(1.f, activation->algorithm, activation->alpha, activation->beta);
  return post_ops;
}

}  // namespace sheaf
