// Gradient of a convolution by its input: dy [N, O, …], weight [O, I/g, k…] → dx [N, I, size…].
#include "runtime/cpu/ops/conv_direct.h"
#include "runtime/cpu/ops/conv_bf16.h"
#include "runtime/cpu/ops/conv_pixels.h"
#include "runtime/cpu/ops/conv_pointwise.h"
#include "runtime/cpu/ops/conv_winograd.h"

namespace sheaf {

using dnnl::convolution_backward_data;

Prepared prepare_conv_backward_data(const Operation& operation) {
  const DnnlDims &dy_dims = operation.operand("dy").dims, &weight_dims = operation.operand("weight").dims,
                 &dx_dims = operation.output().dims;
  require(weight_dims.size() >= 2 && !dy_dims.empty(),
          "dy " + to_string(dy_dims) + " and weight " + to_string(weight_dims) + " don't fit");
  DnnlDims x = {dy_dims[0], weight_dims[1] * operation.integer("groups", 1)};
  for (const int64_t size : spatial_sizes(operation, "size", dy_dims.size())) x.push_back(size);
  require(dx_dims == x, "output has shape " + to_string(dx_dims) + ", expected " + to_string(x));
  const ConvShape g = conv_shape(operation, x, weight_dims, dy_dims, "dy");
  if (winograd_pays(operation, g)) return prepare_conv_backward_data_winograd(operation, g);
  if (pixels_pay(operation, g, ConvResult::dx)) return prepare_conv_backward_data_pixels(operation, g);
  if (pointwise_fits(operation, g, "dy")) return prepare_conv_backward_data_pointwise(operation, g);
  if (operation.dtype() == DType::bfloat16) return prepare_conv_backward_data_bf16(operation, g);

  const convolution_backward_data::primitive_desc pd(
      convolution_backward_data::desc(dnnl::algorithm::convolution_direct, any_desc(g.x), any_desc(g.weight), any_desc(g.y),
                                      g.stride, gaps_of(g.dilation), g.padding_begin, g.padding_end),
      step_attributes(), dnnl_engine(), forward_hint(g));

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  prepared.inputs[operation.find("dy")] = dnnl_tensor(g.y, pd.diff_dst_desc(), plain_desc(g.y), letters);
  prepared.inputs[operation.find("weight")] =
      dnnl_tensor(weight_dims, pd.weights_desc(), plain_desc(g.weight), weight_letters(g));
  prepared.outputs[0] = dnnl_tensor(g.x, pd.diff_src_desc(), plain_desc(g.x), letters);
  take_library(operation, pd, prepared, direct_reason(operation.request.fast_numerics));
  ScratchPlan scratch;
  DnnlCall call{convolution_backward_data(pd)};
  call.argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
