// What the two gradients of a convolution have in common.
#pragma once

#include <cstring>

#include "runtime/bind/conv_shape.h"
#include "runtime/cpu/ops/choice.h"

namespace sheaf {

/// The forward pass that a gradient belongs to, which oneDNN wants to know.
inline dnnl::convolution_forward::primitive_desc forward_hint(const ConvShape& g, dnnl::algorithm algorithm) {
  return {dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, algorithm, any_desc(g.x),
                                          any_desc(g.weight), any_desc(g.y), g.stride, gaps_of(g.dilation),
                                          g.padding_begin, g.padding_end),
          dnnl_engine()};
}

/// `describe(algorithm, may_fail)` makes the gradient's primitive_desc. Strict: direct convolution in the
/// formats that oneDNN prefers. Fast: Winograd where there is one and both channel counts are at least
/// `least_channels`.
template <typename Describe>
auto choose_gradient(const ConvShape& g, bool fast, int64_t least_channels, Describe describe) {
  if (fast && g.x.size() == 4 && g.groups == 1 && g.x[1] >= least_channels && g.y[1] >= least_channels) {
    auto winograd = describe(dnnl::algorithm::convolution_auto, true);
    if (winograd && std::strstr(winograd.impl_info_str(), "wino")) return winograd;
  }
  return describe(dnnl::algorithm::convolution_direct, false);
}

/// What was asked of oneDNN for a gradient that choose_gradient() found `implementation` for.
inline std::string gradient_reason(const char* implementation, bool fast) {
  if (std::strstr(implementation, "wino")) return "Winograd, which --numerics fast allows";
  return fast ? "direct convolution: oneDNN has no Winograd for this gradient, or too few channels make it the slower"
              : "direct convolution in the formats that oneDNN prefers; --numerics strict allows no Winograd";
}

/// Letters of a weight's dims: "oihw", "goiw".
inline std::string weight_letters(const ConvShape& g) {
  return (g.groups > 1 ? "goi" : "oi") + activation_letters(g.x.size()).substr(2);
}

}  // namespace sheaf
