// Convolution, 1-D to 3-D, with bias, residual and activation in the one primitive.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/residual.h"

#include <cstring>

namespace sheaf {
namespace {

using dnnl::algorithm;
using dnnl::convolution_forward;
using dnnl::prop_kind;

struct Geometry {
  DnnlDims x, weight, bias, y, stride, dilation, padding_begin, padding_end;
  int64_t groups = 1;
};

Geometry geometry_of(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &weight = operation.operand("weight"), &y = operation.output();
  const size_t rank = x.dims.size();
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x.dims) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.dims.size() == rank && y.dims.size() == rank,
          "x " + to_string(x.dims) + ", weight " + to_string(weight.dims) + " and output " + to_string(y.dims) +
              " should have one rank");
  Geometry g;
  const size_t spatial = rank - 2;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding_begin", spatial, 0, 0);
  g.padding_end = operation.integers("padding_end", spatial, 0, 0);
  require(g.groups >= 1 && weight.dims[0] % g.groups == 0 && x.dims[1] == weight.dims[1] * g.groups,
          "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit with " +
              std::to_string(g.groups) + " group(s)");
  std::vector<int64_t> expected = {x.dims[0], weight.dims[0]};
  for (size_t i = 0; i < spatial; ++i) {
    const int64_t reach = g.dilation[i] * (weight.dims[i + 2] - 1) + 1;
    const int64_t room = x.dims[i + 2] + g.padding_begin[i] + g.padding_end[i] - reach;
    require(room >= 0, "the kernel is larger than the padded input " + to_string(x.dims));
    expected.push_back(room / g.stride[i] + 1);
  }
  require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
  g.x = x.dims;
  g.y = y.dims;
  g.weight = weight.dims;
  if (g.groups > 1) {
    g.weight[0] /= g.groups;
    g.weight.insert(g.weight.begin(), g.groups);
  }
  if (operation.has("bias")) {
    g.bias = {weight.dims[0]};
    require(operation.operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

convolution_forward::primitive_desc describe(const Geometry& g, prop_kind kind, algorithm algorithm,
                                             const dnnl::primitive_attr& attributes, bool may_fail = false) {
  DnnlDims dilation = g.dilation;
  for (int64_t& d : dilation) d -= 1;  // oneDNN counts the gaps
  const DnnlDesc x = any_desc(g.x), weight = any_desc(g.weight), y = any_desc(g.y);
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  return {convolution_forward::desc(kind, algorithm, x, weight, bias, y, g.stride, dilation, g.padding_begin,
                                    g.padding_end),
          attributes, dnnl_engine(), may_fail};
}

/// Strict: direct convolution. Fast: Winograd too, which oneDNN 2 offers only under forward_training.
convolution_forward::primitive_desc choose(const Geometry& g, const dnnl::primitive_attr& attributes, bool fast) {
  if (fast) {
    auto winograd = describe(g, prop_kind::forward_training, algorithm::convolution_auto, attributes, true);
    if (winograd && std::strstr(winograd.impl_info_str(), "wino")) return winograd;
  }
  return describe(g, prop_kind::forward_inference, algorithm::convolution_direct, attributes);
}

}  // namespace

Prepared prepare_conv(const Operation& operation) {
  const Geometry g = geometry_of(operation);
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const auto pd = choose(g, attributes, operation.request.fast_numerics);

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  std::string weight_letters = "oi" + letters.substr(2);
  if (g.groups > 1) weight_letters = "g" + weight_letters;
  prepared.inputs[operation.find("x")] = dnnl_tensor(g.x, pd.src_desc(), plain_desc(g.x), letters);
  prepared.inputs[operation.find("weight")] = dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(),
                                                          plain_desc(g.weight), weight_letters);
  prepared.outputs[0] = dnnl_tensor(g.y, pd.dst_desc(), plain_desc(g.y), letters);
  prepared.implementation = pd.impl_info_str();

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
      std::make_unique<ResidualExecutable>(std::move(residual), std::move(call), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
