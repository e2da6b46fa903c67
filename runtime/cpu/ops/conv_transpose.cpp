// Transposed convolution, 1-D to 3-D: oneDNN's deconvolution.
#include "runtime/cpu/ops/activation.h"

namespace sheaf {
namespace {

using dnnl::deconvolution_forward;

struct Geometry {
  DnnlDims x, y, weight, bias, stride, dilation, padding_begin, padding_end;
  DnnlDesc weight_plain;  ///< PyTorch's weight [I, O/g, k…] seen as oneDNN's [g,] O/g, I/g, k…
  int64_t groups = 1;
};

Geometry geometry_of(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &weight = operation.operand("weight"), &y = operation.output();
  const size_t rank = x.dims.size(), spatial = rank - 2;
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x.dims) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.dims.size() == rank && y.dims.size() == rank,
          "x " + to_string(x.dims) + ", weight " + to_string(weight.dims) + " and output " + to_string(y.dims) +
              " should have one rank");
  Geometry g;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding", spatial, 0, 0);
  const auto output_padding = operation.integers("output_padding", spatial, 0, 0);
  require(g.groups >= 1 && x.dims[1] % g.groups == 0 && weight.dims[0] == x.dims[1],
          "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit with " +
              std::to_string(g.groups) + " group(s)");
  std::vector<int64_t> expected = {x.dims[0], weight.dims[1] * g.groups};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = g.dilation[i] * (weight.dims[i + 2] - 1) + 1;
    expected.push_back((x.dims[i + 2] - 1) * g.stride[i] - 2 * g.padding_begin[i] + reach + output_padding[i]);
    g.padding_end.push_back(g.padding_begin[i] - output_padding[i]);
  }
  require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
  g.x = x.dims;
  g.y = y.dims;
  const int64_t in = x.dims[1] / g.groups, out = weight.dims[1], kernel = product(weight.dims, 2, rank);
  g.weight = {out, in};
  DnnlDims strides = {kernel, out * kernel};
  int64_t stride = kernel;
  for (size_t i = 2; i < rank; ++i) {
    stride /= weight.dims[i];
    g.weight.push_back(weight.dims[i]);
    strides.push_back(stride);
  }
  if (g.groups > 1) {
    g.weight.insert(g.weight.begin(), g.groups);
    strides.insert(strides.begin(), in * out * kernel);
  }
  g.weight_plain = DnnlDesc(g.weight, dnnl::memory::data_type::f32, strides);
  if (operation.has("bias")) {
    g.bias = {y.dims[1]};
    require(operation.operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

}  // namespace

Prepared prepare_conv_transpose(const Operation& operation) {
  const Geometry g = geometry_of(operation);
  require(!operation.has("residual"), "conv_transpose takes no residual");
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  DnnlDims dilation = g.dilation;
  for (int64_t& d : dilation) d -= 1;  // oneDNN counts the gaps
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  const deconvolution_forward::primitive_desc pd(
      deconvolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
                                  any_desc(g.x), any_desc(g.weight), bias, any_desc(g.y), g.stride, dilation,
                                  g.padding_begin, g.padding_end),
      attributes, dnnl_engine());

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  const std::string weight_letters = (g.groups > 1 ? "goi" : "oi") + letters.substr(2);
  prepared.inputs[operation.find("x")] = dnnl_tensor(g.x, pd.src_desc(), plain_desc(g.x), letters);
  prepared.inputs[operation.find("weight")] =
      dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(), g.weight_plain, weight_letters);
  prepared.outputs[0] = dnnl_tensor(g.y, pd.dst_desc(), plain_desc(g.y), letters);
  prepared.implementation = pd.impl_info_str();
  ScratchPlan scratch;
  DnnlCall call{deconvolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, bias, operation.input_buffer("bias"));
  prepared.scratch_bytes = scratch.bytes();
  std::vector<DnnlCall> calls;
  calls.push_back(std::move(call));
  prepared.executable = std::make_unique<DnnlExecutable>(std::move(calls), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
