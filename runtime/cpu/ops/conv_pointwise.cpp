#include "runtime/cpu/ops/conv_pointwise.h"

#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/pixel_layout.h"
#include "runtime/cpu/ops/residual.h"

namespace sheaf {
namespace {

using dnnl::algorithm;
using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

constexpr const char* why = "a 1x1 convolution of images that lie pixel by pixel, which are to it as channels last";

/// The convolution as oneDNN is shown it.
struct View {
  DnnlDesc x, weight, y, bias;
  DnnlDims ones = {1, 1}, zeros = {0, 0};

  View(const Operation& operation, const ConvShape& g)
      : x(seen(g.x, operation.data_type())),
        weight(any_desc(g.weight, operation.data_type())),
        y(seen(g.y, operation.data_type())) {
    if (!g.bias.empty()) bias = plain_desc(g.bias);
  }
  static DnnlDesc seen(const DnnlDims& dims, dnnl::memory::data_type type) {
    return DnnlDesc({dims[2], dims[1], dims[3], dims[0]}, type, dnnl::memory::format_tag::nhwc);
  }
  convolution_forward::primitive_desc forward(dnnl::prop_kind kind, const dnnl::primitive_attr& attributes) const {
    return {convolution_forward::desc(kind, algorithm::convolution_direct, x, weight, bias, y, ones, zeros, zeros, zeros),
            attributes, dnnl_engine()};
  }
};

TensorSpec weight_tensor(const ConvShape& g, const DnnlDesc& desc) {
  return dnnl_tensor(g.weight, desc, plain_desc(g.weight, desc.data_type()), "oihw");
}

template <typename PrimitiveDesc>
Prepared finish(const Operation& operation, const PrimitiveDesc& pd, Prepared prepared, ResidualCopy residual, DnnlCall call) {
  take_library(operation, pd, prepared, why);
  ScratchPlan scratch;
  call.argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace

bool pointwise_fits(const Operation&, const ConvShape& g) {
  if (g.x.size() != 4 || g.groups != 1 || g.weight[2] * g.weight[3] != 1 || g.stride != Dims{1, 1}) return false;
  if (g.padding_begin != Dims{0, 0} || g.padding_end != Dims{0, 0}) return false;
  if (g.x[0] == 1) return false;  // one image pixel by pixel is channels last, which oneDNN knows better by its own name
  return g.x[2] * g.x[3] > 1;     // and one pixel is plain
}

Prepared prepare_conv_pointwise(const Operation& operation, const ConvShape& g) {
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const View view(operation, g);
  const auto pd = view.forward(dnnl::prop_kind::forward_inference, attributes);
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = pixels_tensor(g.x, operation.data_type());
  prepared.inputs[size_t(operation.find("weight"))] = weight_tensor(g, pd.weights_desc());
  prepared.outputs[0] = pixels_tensor(g.y, operation.data_type());
  ResidualCopy residual(operation, pixels_desc(g.y, operation.data_type()), prepared);
  DnnlCall call{convolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer());
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, pd.bias_desc(), operation.input_buffer("bias"));
  return finish(operation, pd, std::move(prepared), std::move(residual), std::move(call));
}

Prepared prepare_conv_backward_data_pointwise(const Operation& operation, const ConvShape& g) {
  const View view(operation, g);
  const convolution_backward_data::primitive_desc pd(
      convolution_backward_data::desc(algorithm::convolution_direct, view.x, view.weight, view.y, view.ones, view.zeros,
                                      view.zeros, view.zeros),
      step_attributes(), dnnl_engine(), view.forward(dnnl::prop_kind::forward_training, {}));
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("dy"))] = pixels_tensor(g.y, operation.data_type());
  prepared.inputs[size_t(operation.find("weight"))] = weight_tensor(g, pd.weights_desc());
  prepared.outputs[0] = pixels_tensor(g.x, operation.data_type());
  DnnlCall call{convolution_backward_data(pd)};
  call.argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DIFF_SRC, pd.diff_src_desc(), operation.output_buffer());
  return finish(operation, pd, std::move(prepared), {}, std::move(call));
}

Prepared prepare_conv_backward_weight_pointwise(const Operation& operation, const ConvShape& g) {
  const View view(operation, g);
  const convolution_backward_weights::primitive_desc pd(
      convolution_backward_weights::desc(algorithm::convolution_direct, view.x, any_desc(g.weight), view.bias, view.y,
                                         view.ones, view.zeros, view.zeros, view.zeros),
      step_attributes(), dnnl_engine(), view.forward(dnnl::prop_kind::forward_training, {}));
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("x"))] = pixels_tensor(g.x, operation.data_type());
  prepared.inputs[size_t(operation.find("dy"))] = pixels_tensor(g.y, operation.data_type());
  prepared.outputs[0] = weight_tensor(g, pd.diff_weights_desc());
  DnnlCall call{convolution_backward_weights(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_DIFF_DST, pd.diff_dst_desc(), operation.input_buffer("dy"))
      .argument(DNNL_ARG_DIFF_WEIGHTS, pd.diff_weights_desc(), operation.output_buffer());
  if (!g.bias.empty()) call.argument(DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), operation.output_buffer(1));
  return finish(operation, pd, std::move(prepared), {}, std::move(call));
}

}  // namespace sheaf
