#include "runtime/cpu/ops/conv_bf16.h"

#include "runtime/machine/isa.h"
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/conv_direct.h"
#include "runtime/cpu/ops/residual.h"

namespace sheaf {
namespace {

using dnnl::algorithm;
using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

constexpr auto bf16 = dnnl::memory::data_type::bf16;

/// Layouts of x and y; the weight's is left to oneDNN. Without AMX, blocks of 16 channels where the channels fill them:
/// left to choose, oneDNN 2.6 takes channels last forward and blocks backward, with a reorder between them; and its
/// forward kernels for blocks are the faster, 109 ms against 137 for ResNet-18 at batch 64 on one thread (Zen 5).
struct Layouts {
  DnnlDesc x, weight, y;
  const char* why = "in the layouts that oneDNN prefers";
  /// `images`: x may have too few channels for a block; oneDNN has a kernel for those, but for gradients by x.
  explicit Layouts(const ConvShape& g, bool images = true)
      : x(any_desc(g.x, bf16)), weight(any_desc(g.weight, bf16)), y(any_desc(g.y, bf16)) {
    using tag = dnnl::memory::format_tag;
    constexpr int64_t block = 16, image_channels = 4;
    if (has_amx() || g.x.size() != 4 || g.groups != 1 || g.y[1] % block != 0) return;
    if (g.x[1] % block != 0 && (!images || g.x[1] > image_channels)) return;
    x = DnnlDesc(g.x, bf16, g.x[1] % block ? tag::nchw : tag::nChw16c);
    y = DnnlDesc(g.y, bf16, tag::nChw16c);
    why = "in blocks of 16 channels: without AMX they are the faster, and the backward pass has them too";
  }
};

convolution_forward::primitive_desc describe(const ConvShape& g, const Layouts& layouts, dnnl::prop_kind kind,
                                             const dnnl::primitive_attr& attributes) {
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  return {convolution_forward::desc(kind, algorithm::convolution_direct, layouts.x, layouts.weight, bias, layouts.y, g.stride,
                                    gaps_of(g.dilation), g.padding_begin, g.padding_end),
          attributes, dnnl_engine()};
}

TensorSpec activation(const DnnlDims& dims, const DnnlDesc& desc) {
  return dnnl_tensor(dims, desc, plain_desc(dims, bf16), activation_letters(dims.size()));
}

/// `dims`: PyTorch's, without a dimension of groups.
TensorSpec weight(const ConvShape& g, const DnnlDims& dims, const DnnlDesc& desc) {
  return dnnl_tensor(dims, desc, plain_desc(g.weight, desc.data_type()), weight_letters(g));
}

/// `layouts`: Layouts::why.
Prepared finish(Prepared prepared, const char* implementation, const char* layouts, ResidualCopy residual, DnnlCall call,
                const ScratchPlan& scratch, int threads) {
  prepared.implementation = implementation;
  prepared.reason = library_reason(std::string("direct convolution of bf16 values with f32 sums, ") + layouts, nullptr);
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), threads);
  return prepared;
}

}  // namespace

Prepared prepare_conv_bf16(const Operation& operation, const ConvShape& g) {
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const Layouts layouts(g);
  const auto pd = describe(g, layouts, dnnl::prop_kind::forward_inference, attributes);
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = activation(g.x, pd.src_desc());
  prepared.inputs[size_t(operation.find("weight"))] = weight(g, operation.operand("weight").dims, pd.weights_desc());
  prepared.outputs[0] = activation(g.y, pd.dst_desc());
  ScratchPlan scratch;
  ResidualCopy residual(operation, pd.dst_desc(), prepared);
  DnnlCall call{convolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, pd.bias_desc(), operation.input_buffer("bias"));
  return finish(std::move(prepared), pd.impl_info_str(), layouts.why, std::move(residual), std::move(call), scratch,
                operation.request.threads);
}

Prepared prepare_conv_backward_data_bf16(const Operation& operation, const ConvShape& g) {
  const Layouts layouts(g, /*images=*/false);
  const convolution_backward_data::primitive_desc pd(
      convolution_backward_data::desc(algorithm::convolution_direct, layouts.x, layouts.weight, layouts.y, g.stride,
                                      gaps_of(g.dilation), g.padding_begin, g.padding_end),
      step_attributes(), dnnl_engine(), describe(g, layouts, dnnl::prop_kind::forward_training, {}));
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("dy"))] = activation(g.y, pd.diff_dst_desc());
  prepared.inputs[size_t(operation.find("weight"))] = weight(g, operation.operand("weight").dims, pd.weights_desc());
  prepared.outputs[0] = activation(g.x, pd.diff_src_desc());
  ScratchPlan scratch;
  DnnlCall call{convolution_backward_data(pd)};
  call.argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  return finish(std::move(prepared), pd.impl_info_str(), layouts.why, {}, std::move(call), scratch, operation.request.threads);
}

Prepared prepare_conv_backward_weight_bf16(const Operation& operation, const ConvShape& g) {
  const Layouts layouts(g);
  const DnnlDesc dbias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  const convolution_backward_weights::primitive_desc pd(
      convolution_backward_weights::desc(algorithm::convolution_direct, layouts.x, any_desc(g.weight), dbias, layouts.y,
                                         g.stride, gaps_of(g.dilation), g.padding_begin, g.padding_end),
      step_attributes(), dnnl_engine(), describe(g, layouts, dnnl::prop_kind::forward_training, {}));
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = activation(g.x, pd.src_desc());
  prepared.inputs[size_t(operation.find("dy"))] = activation(g.y, pd.diff_dst_desc());
  prepared.outputs[0] = weight(g, operation.wide_output().dims, pd.diff_weights_desc());
  ScratchPlan scratch;
  DnnlCall call{convolution_backward_weights(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (!g.bias.empty()) call.argument(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), operation.output_buffer(1));
  return finish(std::move(prepared), pd.impl_info_str(), layouts.why, {}, std::move(call), scratch, operation.request.threads);
}

}  // namespace sheaf
