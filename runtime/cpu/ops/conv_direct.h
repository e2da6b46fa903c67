// What a convolution and its two gradients have in common.
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/choice.h"

namespace sheaf {

/// The forward pass that a gradient belongs to, which oneDNN wants to know.
inline dnnl::convolution_forward::primitive_desc forward_hint(const ConvShape& g) {
  return {dnnl::convolution_forward::desc(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, any_desc(g.x),
                                          any_desc(g.weight), any_desc(g.y), g.stride, gaps_of(g.dilation), g.padding_begin,
                                          g.padding_end),
          dnnl_engine()};
}

/// What is asked of oneDNN for a convolution, or a gradient of one, that this project's own ways don't serve.
inline const char* direct_reason(bool fast) {
  return fast ? "direct convolution in the formats that oneDNN prefers: Winograd and products over the batch don't fit or "
                "don't pay"
              : "direct convolution in the formats that oneDNN prefers; --numerics strict allows no Winograd";
}

/// Letters of a weight's dims: "oihw", "goiw".
inline std::string weight_letters(const ConvShape& g) {
  return (g.groups > 1 ? "goi" : "oi") + activation_letters(g.x.size()).substr(2);
}

}  // namespace sheaf
