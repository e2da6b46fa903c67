#include "runtime/cpu/ops/conv_direct.h"

#include <cstring>

#include "runtime/base/sanitizers.h"
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/residual.h"

namespace sheaf {
namespace {

using dnnl::algorithm;
using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;
using dnnl::prop_kind;
using tag = dnnl::memory::format_tag;

constexpr int64_t channel_block = 16, image_channels = 4;

/// Whether the name of what oneDNN would compute it with has this `part`: oneDNN says nothing else of it, and accepts most sizes in any layout,
/// many by loops or by im2col. (Should a version rename what is asked for here, candidates_test.cpp misses candidates.)
template <typename PrimitiveDesc>
bool is(const PrimitiveDesc& pd, const char* part) {
  return pd && std::strstr(pd.impl_info_str(), part);
}

/// While oneDNN 2.6 writes brgconv's kernel for AMX, it reads one element beyond a table of its own and makes no use of it.
/// AddressSanitizer's heap can end there, and the program with it, so such a build takes oneDNN's next choice.
/// (jit_brgemm_amx_uker.cpp, skipped_bd_mask after the last block)
void pass_over_brgconv_for_amx(convolution_forward::primitive_desc& pd) {
  if constexpr (under_address_sanitizer) {
    while (is(pd, "brgconv:avx512_core_amx") && pd.next_impl()) continue;
  }
}

/// A convolution's tensors as oneDNN is shown them.
struct Tensors {
  DnnlDesc x, weight, y, bias, dweight;
  DnnlDims stride, gaps, begin, end;

  Tensors(const Operation& operation, const ConvShape& g, Layout layout)
      : weight(any_desc(g.weight, operation.data_type())),
        dweight(any_desc(g.weight)),  // a sum, always f32
        stride(g.stride),
        gaps(gaps_of(g.dilation)),
        begin(g.padding_begin),
        end(g.padding_end) {
    const auto type = operation.data_type();
    const auto lies = [&](const DnnlDims& dims) {
      if (layout == Layout::any) return any_desc(dims, type);
      if (layout == Layout::last) return channels_last_desc(dims, type);
      return DnnlDesc(dims, type, dims[1] % channel_block ? tag::nchw : tag::nChw16c);
    };
    x = lies(g.x);
    y = lies(g.y);
    if (!g.bias.empty()) bias = plain_desc(g.bias);
  }

  convolution_forward::primitive_desc forward(prop_kind kind, const dnnl::primitive_attr& attributes,
                                              bool may_fail = false) const {
    const convolution_forward::desc desc(kind, algorithm::convolution_direct, x, weight, bias, y, stride, gaps, begin, end);
    convolution_forward::primitive_desc pd(desc, attributes, dnnl_engine(), may_fail);
    pass_over_brgconv_for_amx(pd);
    return pd;
  }
  /// The forward pass that a gradient belongs to, which oneDNN wants to know.
  convolution_forward::primitive_desc hint(bool may_fail = false) const {
    return forward(prop_kind::forward_training, {}, may_fail);
  }
  convolution_backward_data::primitive_desc backward_data(const convolution_forward::primitive_desc& forward,
                                                          bool may_fail = false) const {
    return {convolution_backward_data::desc(algorithm::convolution_direct, x, weight, y, stride, gaps, begin, end),
            step_attributes(), dnnl_engine(), forward, may_fail};
  }
  convolution_backward_weights::primitive_desc backward_weights(const convolution_forward::primitive_desc& forward,
                                                                bool may_fail = false) const {
    return {convolution_backward_weights::desc(algorithm::convolution_direct, x, dweight, bias, y, stride, gaps, begin, end),
            step_attributes(), dnnl_engine(), forward, may_fail};
  }
};

dnnl::primitive_attr forward_attributes(const Operation& operation) {
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  return attributes;
}

/// What was asked of oneDNN, for explain.
std::string asked_for(const Operation& operation, Layout layout) {
  const std::string narrow = operation.dtype() == DType::bfloat16 ? " of bf16 values with f32 sums" : "";
  switch (layout) {
    case Layout::blocks: return "direct convolution" + narrow + " in channel blocks of 16, as its gradients want x and give dx";
    case Layout::last:
      return "direct convolution" + narrow + " with channels last, which strides slow down less than channel blocks";
    case Layout::any: break;
  }
  return "direct convolution" + narrow + " in the formats that oneDNN prefers" +
         (operation.request.fast_numerics ? "" : "; --numerics strict allows no Winograd");
}

/// `dims`: PyTorch's, without a dimension of groups.
TensorSpec weight_tensor(const ConvShape& g, const DnnlDims& dims, const DnnlDesc& desc) {
  const std::string letters = (g.groups > 1 ? "goi" : "oi") + activation_letters(g.x.size()).substr(2);
  return dnnl_tensor(dims, desc, plain_desc(g.weight, desc.data_type()), letters);
}

/// `call` lacks its scratchpad yet.
template <typename PrimitiveDesc>
Prepared finish(const Operation& operation, Layout layout, const PrimitiveDesc& pd, Prepared prepared, ResidualCopy residual,
                DnnlCall call) {
  take_library(operation, pd, prepared, asked_for(operation, layout));
  ScratchPlan scratch;
  call.argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), operation.request.threads);
  return prepared;
}

/// Whether what oneDNN makes of the layout is what it is there for: its code for AVX-512, or brgconv.
template <typename PrimitiveDesc>
bool serves(const PrimitiveDesc& pd, Layout layout) {
  return layout == Layout::last ? is(pd, "brg") : is(pd, "jit") && is(pd, "avx512");
}

}  // namespace

bool direct_fits(const Operation& operation, const ConvShape& g, ConvResult result, Layout layout) {
  if (layout == Layout::any) return true;
  if (g.x.size() != 4 || g.groups != 1 || g.y[1] % channel_block != 0) return false;
  const bool image = layout == Layout::blocks && result != ConvResult::dx && g.x[1] <= image_channels;
  if (g.x[1] % channel_block != 0 && !image) return false;
  const Tensors tensors(operation, g, layout);
  const Operation asked(operation.request);  // which notes what its post-ops would do to NaN: it may not be taken
  if (result == ConvResult::y)
    return serves(tensors.forward(prop_kind::forward_inference, forward_attributes(asked), true), layout);
  const auto hint = tensors.hint(true);
  if (!hint) return false;
  return result == ConvResult::dx ? serves(tensors.backward_data(hint, true), layout)
                                  : serves(tensors.backward_weights(hint, true), layout);
}

Prepared prepare_conv_direct(const Operation& operation, const ConvShape& g, Layout layout) {
  const auto pd = Tensors(operation, g, layout).forward(prop_kind::forward_inference, forward_attributes(operation));
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = activation_tensor(g.x, pd.src_desc());
  prepared.inputs[size_t(operation.find("weight"))] = weight_tensor(g, operation.operand("weight").dims, pd.weights_desc());
  prepared.outputs[0] = activation_tensor(g.y, pd.dst_desc());
  ResidualCopy residual(operation, pd.dst_desc(), prepared);
  DnnlCall call{convolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer());
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, pd.bias_desc(), operation.input_buffer("bias"));
  return finish(operation, layout, pd, std::move(prepared), std::move(residual), std::move(call));
}

Prepared prepare_conv_backward_data_direct(const Operation& operation, const ConvShape& g, Layout layout) {
  const Tensors tensors(operation, g, layout);
  const auto pd = tensors.backward_data(tensors.hint());
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("dy"))] = activation_tensor(g.y, pd.diff_dst_desc());
  prepared.inputs[size_t(operation.find("weight"))] = weight_tensor(g, operation.operand("weight").dims, pd.weights_desc());
  prepared.outputs[0] = activation_tensor(g.x, pd.diff_src_desc());
  DnnlCall call{convolution_backward_data(pd)};
  call.argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), operation.output_buffer());
  return finish(operation, layout, pd, std::move(prepared), {}, std::move(call));
}

Prepared prepare_conv_backward_weight_direct(const Operation& operation, const ConvShape& g, Layout layout) {
  const Tensors tensors(operation, g, layout);
  const auto pd = tensors.backward_weights(tensors.hint());
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = activation_tensor(g.x, pd.src_desc());
  prepared.inputs[size_t(operation.find("dy"))] = activation_tensor(g.y, pd.diff_dst_desc());
  prepared.outputs[0] = weight_tensor(g, operation.wide_output().dims, pd.diff_weights_desc());
  DnnlCall call{convolution_backward_weights(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), operation.output_buffer());
  if (!g.bias.empty()) call.argument(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), operation.output_buffer(1));
  return finish(operation, layout, pd, std::move(prepared), {}, std::move(call));
}

}  // namespace sheaf
