// Convolution, 1-D to 3-D, with bias, residual and activation in the one primitive.
#include <cstring>

#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/conv_direct.h"
#include "runtime/cpu/ops/conv_bf16.h"
#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/conv_pointwise.h"
#include "runtime/cpu/ops/conv_winograd.h"
#include "runtime/cpu/ops/residual.h"

namespace sheaf {
namespace {

using dnnl::algorithm;
using dnnl::convolution_forward;
using dnnl::prop_kind;

struct Formats {
  DnnlDesc x, y;
};

convolution_forward::primitive_desc describe(const ConvShape& g, prop_kind kind, const Formats& formats,
                                             const dnnl::primitive_attr& attributes, bool may_fail = false) {
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  return {convolution_forward::desc(kind, algorithm::convolution_direct, formats.x, any_desc(g.weight), bias, formats.y,
                                    g.stride, gaps_of(g.dilation), g.padding_begin, g.padding_end),
          attributes, dnnl_engine(), may_fail};
}

bool is(const convolution_forward::primitive_desc& pd, const char* part) { return pd && std::strstr(pd.impl_info_str(), part); }

/// Direct convolution in channel blocks of 16; none if the channels don't fill them.
convolution_forward::primitive_desc choose_blocked(const ConvShape& g, const dnnl::primitive_attr& attributes) {
  if (g.x.size() != 4 || g.groups != 1) return {};
  if (g.y[1] % 16 != 0 || (g.x[1] % 16 != 0 && g.x[1] > 4)) return {};
  using tag = dnnl::memory::format_tag;
  const auto f32 = dnnl::memory::data_type::f32;
  const Formats blocked{DnnlDesc(g.x, f32, g.x[1] % 16 ? tag::nchw : tag::nChw16c), DnnlDesc(g.y, f32, tag::nChw16c)};
  auto jit = describe(g, prop_kind::forward_inference, blocked, attributes, true);
  return is(jit, "jit") && is(jit, "avx512") ? jit : convolution_forward::primitive_desc();
}

/// Direct convolution with channels last, where oneDNN has its brgconv for it: strided, it takes 0.65 to 0.85 of the
/// time that channel blocks take, reorders included.
convolution_forward::primitive_desc choose_strided(const ConvShape& g, const dnnl::primitive_attr& attributes) {
  if (g.x.size() != 4 || g.groups != 1 || g.stride[1] < 2 || g.weight[2] * g.weight[3] == 1) return {};
  if (g.x[1] % 16 != 0 || g.y[1] % 16 != 0) return {};
  using tag = dnnl::memory::format_tag;
  const auto f32 = dnnl::memory::data_type::f32;
  const Formats last{DnnlDesc(g.x, f32, tag::nhwc), DnnlDesc(g.y, f32, tag::nhwc)};
  auto brgconv = describe(g, prop_kind::forward_inference, last, attributes, true);
  return is(brgconv, "brgconv") ? brgconv : convolution_forward::primitive_desc();
}

struct Choice {
  convolution_forward::primitive_desc pd;
  std::string why;
};

/// Direct convolution, in the formats that oneDNN prefers. In training (a weight that changes): in channel blocks, as the
/// gradients want x and give dx.
Choice choose(const ConvShape& g, const dnnl::primitive_attr& attributes, bool fast, bool training) {
  if (auto chosen = choose_strided(g, attributes))
    return {chosen, "direct convolution with channels last, which strides slow down less than channel blocks"};
  if (training)
    if (auto chosen = choose_blocked(g, attributes))
      return {chosen, "direct convolution in channel blocks of 16, as its gradients want x and give dx"};
  const Formats any{any_desc(g.x), any_desc(g.y)};
  return {describe(g, prop_kind::forward_inference, any, attributes), direct_reason(fast)};
}

}  // namespace

Prepared prepare_conv(const Operation& operation) {
  const ConvShape g = conv_shape(operation);
  if (pixels_pay(operation, g, ConvResult::y)) return prepare_conv_pixels(operation, g);
  if (winograd_pays(operation, g)) return prepare_conv_winograd(operation, g);
  if (pointwise_fits(operation, g, "x")) return prepare_conv_pointwise(operation, g);
  if (operation.dtype() == DType::bfloat16) return prepare_conv_bf16(operation, g);
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const auto [pd, why] = choose(g, attributes, operation.request.fast_numerics, !operation.constant("weight"));

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  std::string weight_letters = "oi" + letters.substr(2);
  if (g.groups > 1) weight_letters = "g" + weight_letters;
  prepared.inputs[operation.find("x")] = dnnl_tensor(g.x, pd.src_desc(), plain_desc(g.x), letters);
  prepared.inputs[operation.find("weight")] =
      dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(), plain_desc(g.weight), weight_letters);
  prepared.outputs[0] = dnnl_tensor(g.y, pd.dst_desc(), plain_desc(g.y), letters);
  take_library(operation, pd, prepared, why);

  ScratchPlan scratch;
  ResidualCopy residual(operation, pd.dst_desc(), prepared);
  DnnlCall call{convolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, pd.bias_desc(), operation.input_buffer("bias"));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
