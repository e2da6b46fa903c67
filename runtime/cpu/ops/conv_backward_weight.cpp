// Gradient of a convolution by its weight and bias: x [N, I, …], dy [N, O, …] →
// dweight [O, I/g, k…], dbias [O].
#include "runtime/cpu/ops/conv_direct.h"
#include "runtime/cpu/ops/conv_bf16.h"
#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/conv_pointwise.h"
#include "runtime/cpu/ops/conv_winograd.h"

namespace sheaf {

using dnnl::convolution_backward_weights;

Prepared prepare_conv_backward_weight(const Operation& operation) {
  const DnnlDims &x_dims = operation.operand("x").dims, &dy_dims = operation.operand("dy").dims,
                 &dweight_dims = operation.wide_output().dims;
  const bool bias = operation.flag("bias", false);
  const int64_t groups = operation.integer("groups", 1);
  require(operation.request.outputs.size() == (bias ? 2 : 1),
          bias ? "expected dweight and dbias as outputs" : "expected dweight as output");
  require(groups >= 1 && x_dims.size() >= 2 && dy_dims.size() == x_dims.size(),
          "x " + to_string(x_dims) + " and dy " + to_string(dy_dims) + " don't fit");
  DnnlDims weight = {dy_dims[1], x_dims[1] / groups};
  for (const int64_t size : spatial_sizes(operation, "kernel_size", x_dims.size())) weight.push_back(size);
  require(dweight_dims == weight, "output has shape " + to_string(dweight_dims) + ", expected " + to_string(weight));
  ConvShape g = conv_shape(operation, x_dims, weight, dy_dims, "dy");
  if (bias) {
    g.bias = {weight[0]};
    require(operation.wide_output(1).dims == g.bias, "dbias should have shape " + to_string(g.bias));
  }
  if (winograd_pays(operation, g)) return prepare_conv_backward_weight_winograd(operation, g);
  if (pixels_pay(operation, g, ConvResult::dweight)) return prepare_conv_backward_weight_pixels(operation, g);
  if (pointwise_fits(operation, g, "x")) return prepare_conv_backward_weight_pointwise(operation, g);
  if (operation.dtype() == DType::bfloat16) return prepare_conv_backward_weight_bf16(operation, g);

  const DnnlDesc dbias = bias ? plain_desc(g.bias) : DnnlDesc();
  const convolution_backward_weights::primitive_desc pd(
      convolution_backward_weights::desc(dnnl::algorithm::convolution_direct, any_desc(g.x), any_desc(g.weight), dbias,
                                         any_desc(g.y), g.stride, gaps_of(g.dilation), g.padding_begin, g.padding_end),
      step_attributes(), dnnl_engine(), forward_hint(g));

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  prepared.inputs[operation.find("x")] = dnnl_tensor(g.x, pd.src_desc(), plain_desc(g.x), letters);
  prepared.inputs[operation.find("dy")] = dnnl_tensor(g.y, pd.diff_dst_desc(), plain_desc(g.y), letters);
  prepared.outputs[0] = dnnl_tensor(weight, pd.diff_weights_desc(), plain_desc(g.weight), weight_letters(g));
  take_library(operation, pd, prepared, direct_reason(operation.request.fast_numerics));
  ScratchPlan scratch;
  DnnlCall call{convolution_backward_weights(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (bias) call.argument(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), operation.output_buffer(1));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
