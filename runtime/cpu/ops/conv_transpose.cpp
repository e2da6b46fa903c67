// Transposed convolution, 1-D to 3-D: oneDNN's deconvolution.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"

#include <algorithm>
#include <cstring>

namespace sheaf {
namespace {

using dnnl::deconvolution_forward;

struct Geometry {
  DnnlDims x, x_extended, y, weight, bias, stride, dilation, padding_begin, padding_end;
  DnnlDesc weight_plain;  ///< PyTorch's weight [I, O/g, k…] seen as oneDNN's [g,] O/g, I/g, k…
  int64_t groups = 1;
  bool extended() const { return x_extended != x; }
};

Geometry geometry_of(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &weight = operation.operand("weight"), &y = operation.output();
  const size_t rank = x.dims.size(), spatial = rank - 2;
  require(rank >= 3 && rank <= 5, "x has shape " + to_string(x.dims) + ", expected [N, C, …] with 1 to 3 more dims");
  require(weight.dims.size() == rank && y.dims.size() == rank, "x " + to_string(x.dims) + ", weight " + to_string(weight.dims) +
                                                                   " and output " + to_string(y.dims) +
                                                                   " should have one rank");
  Geometry g;
  g.groups = operation.integer("groups", 1);
  g.stride = operation.integers("stride", spatial, 1, 1);
  g.dilation = operation.integers("dilation", spatial, 1, 1);
  g.padding_begin = operation.integers("padding", spatial, 0, 0);
  const auto output_padding = operation.integers("output_padding", spatial, 0, 0);
  require(g.groups >= 1 && x.dims[1] % g.groups == 0 && weight.dims[0] == x.dims[1],
          "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit with " + std::to_string(g.groups) +
              " group(s)");
  std::vector<int64_t> expected = {x.dims[0], weight.dims[1] * g.groups}, extra = {0, 0};
  for (size_t i = 0; i < spatial; ++i) {
    require(output_padding[i] < std::max(g.stride[i], g.dilation[i]),
            "output_padding should be smaller than stride or dilation");
    const int64_t reach = g.dilation[i] * (weight.dims[i + 2] - 1) + 1;
    expected.push_back((x.dims[i + 2] - 1) * g.stride[i] - 2 * g.padding_begin[i] + reach + output_padding[i]);
    // oneDNN wants padding_end > -stride. Zeros behind the input's end, cut off again, change nothing else.
    int64_t zeros = 0, padding_end = g.padding_begin[i] - output_padding[i];
    for (; padding_end + g.stride[i] <= 0; padding_end += g.stride[i]) ++zeros;
    g.padding_end.push_back(padding_end);
    extra.push_back(zeros);
  }
  require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
  g.x = g.x_extended = x.dims;
  for (size_t i = 0; i < rank; ++i) g.x_extended[i] += extra[i];
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
  g.weight_plain = DnnlDesc(g.weight, operation.data_type(), strides);
  if (operation.has("bias")) {
    g.bias = {y.dims[1]};
    require(operation.wide_operand("bias").dims == g.bias, "bias should have shape " + to_string(g.bias));
  }
  return g;
}

/// Deconvolution of an input that is first copied to scratch, with zeros behind its end.
class ExtendedExecutable final : public Executable {
 public:
  ExtendedExecutable(BufferRef extended, size_t bytes, std::vector<DnnlCall> calls, int threads)
      : extended_(extended), bytes_(bytes), calls_(std::move(calls), threads) {}
  void run(void* const* buffers, void* scratch) override {
    std::memset(extended_.resolve(buffers, scratch), 0, bytes_);
    calls_.run(buffers, scratch);
  }

 private:
  BufferRef extended_;
  size_t bytes_;
  DnnlExecutable calls_;
};

/// A single pixel spread out to a kernel's size: one matrix product, [N, I] · [I, O·k], whose bias is bias[o]
/// repeated.
class PixelExecutable final : public Executable {
 public:
  PixelExecutable(BufferRef bias, BufferRef repeated, int64_t channels, int64_t kernel, DnnlCall call, int threads)
      : bias_(bias), repeated_(repeated), channels_(channels), kernel_(kernel), call_(one_call(std::move(call)), threads) {}
  void run(void* const* buffers, void* scratch) override {
    const auto* from = reinterpret_cast<const float*>(bias_.resolve(buffers, scratch));
    auto* to = reinterpret_cast<float*>(repeated_.resolve(buffers, scratch));
    for (int64_t o = 0; o < channels_; ++o) std::fill_n(to + o * kernel_, kernel_, from[o]);
    call_.run(buffers, scratch);
  }

 private:
  BufferRef bias_, repeated_;
  int64_t channels_, kernel_;  ///< channels_ 0: no bias
  DnnlExecutable call_;
};

/// The first layer of an image generator: oneDNN's deconvolution is 40 times slower here than the product it
/// is.
bool is_pixel(const Geometry& g) {
  auto all = [](const DnnlDims& dims, int64_t value) {
    return std::all_of(dims.begin(), dims.end(), [value](int64_t dim) { return dim == value; });
  };
  return g.groups == 1 && all(DnnlDims(g.x.begin() + 2, g.x.end()), 1) && all(g.padding_begin, 0) && all(g.padding_end, 0);
}

Prepared prepare_pixel(const Operation& operation, const Geometry& g) {
  const int64_t rows = g.x[0], in = g.x[1], out = g.y[1], kernel = product(g.y, 2, g.y.size());
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const auto type = operation.data_type();
  const DnnlDesc x = plain_desc({rows, in}, type), weight = plain_desc({in, out * kernel}, type),
                 y = plain_desc({rows, out * kernel}, type);
  const DnnlDesc wanted = operation.constant("weight") ? any_desc({in, out * kernel}, type) : weight;
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc({1, out * kernel});
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(x, wanted, bias, y), attributes, dnnl_engine());
  Prepared prepared = operation.prepared();
  prepared.inputs[operation.find("weight")] = dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(), weight, "io");
  take_library(operation, pd, prepared,
               "one pixel spread out to the kernel's size is one matrix product, for which oneDNN's deconvolution takes 40 "
               "times as long");
  prepared.implementation = "matmul, " + prepared.implementation;
  ScratchPlan scratch;
  const BufferRef repeated = scratch.take(bias.get_size());
  DnnlCall call{dnnl::matmul(pd)};
  call.argument(DNNL_ARG_SRC, x, operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_BIAS, bias, repeated)
      .argument(DNNL_ARG_DST, y, operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<PixelExecutable>(g.bias.empty() ? BufferRef{0, 0} : operation.input_buffer("bias"), repeated,
                                        g.bias.empty() ? 0 : out, kernel, std::move(call), operation.request.threads);
  return prepared;
}

}  // namespace

Prepared prepare_conv_transpose(const Operation& operation) {
  const Geometry g = geometry_of(operation);
  require(!operation.has("residual"), "conv_transpose takes no residual");
  if (is_pixel(g)) return prepare_pixel(operation, g);
  DnnlDims dilation = g.dilation;
  for (int64_t& d : dilation) d -= 1;  // oneDNN counts the gaps
  const auto type = operation.data_type();
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  const deconvolution_forward::primitive_desc pd(
      deconvolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
                                  g.extended() ? plain_desc(g.x_extended, type) : any_desc(g.x, type), any_desc(g.weight, type),
                                  bias, any_desc(g.y, type), g.stride, dilation, g.padding_begin, g.padding_end),
      step_attributes(), dnnl_engine());

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.x.size());
  const std::string weight_letters = (g.groups > 1 ? "goi" : "oi") + letters.substr(2);
  if (!g.extended()) prepared.inputs[operation.find("x")] = activation_tensor(g.x, pd.src_desc());
  prepared.inputs[operation.find("weight")] =
      dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(), g.weight_plain, weight_letters);
  prepared.outputs[0] = activation_tensor(g.y, pd.dst_desc());
  take_library(operation, pd, prepared,
               g.extended() ? "direct deconvolution of x with zeros behind its end, which oneDNN's limit on padding asks for"
                            : "direct deconvolution, in the formats that oneDNN prefers");
  ScratchPlan scratch;
  std::vector<DnnlCall> calls;
  BufferRef x = operation.input_buffer("x");
  if (g.extended()) {
    const BufferRef extended = scratch.take(pd.src_desc().get_size());
    const DnnlDesc from = plain_desc(g.x, type), to = pd.src_desc().submemory_desc(g.x, DnnlDims(g.x.size(), 0));
    calls.emplace_back(dnnl::reorder(dnnl::reorder::primitive_desc(dnnl_engine(), from, dnnl_engine(), to)));
    calls.back().argument(DNNL_ARG_FROM, from, x).argument(DNNL_ARG_TO, to, extended);
    x = extended;
  }
  DnnlCall call{deconvolution_forward(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), x)
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (!g.bias.empty()) call.argument(DNNL_ARG_BIAS, bias, operation.input_buffer("bias"));
  calls.push_back(std::move(call));
  // As a post-op, oneDNN would apply it one element after another.
  if (const auto activation = library_activation(operation)) {
    prepared.reason +=
        "; its activation is a primitive of its own, as oneDNN applies a post-op here to one element after another";
    const dnnl::eltwise_forward::primitive_desc eltwise(
        dnnl::eltwise_forward::desc(dnnl::prop_kind::forward_inference, activation->algorithm, pd.dst_desc(), activation->alpha,
                                    activation->beta),
        step_attributes(), dnnl_engine());
    const DnnlDesc scratchpad = eltwise.scratchpad_desc();
    calls.emplace_back(dnnl::eltwise_forward(eltwise));
    calls.back()
        .argument(DNNL_ARG_SRC, pd.dst_desc(), operation.output_buffer())
        .argument(DNNL_ARG_DST, pd.dst_desc(), operation.output_buffer())
        .argument(DNNL_ARG_SCRATCHPAD, scratchpad, scratch.take(scratchpad.get_size()));
  }
  prepared.scratch_bytes = scratch.bytes();
  const int threads = operation.request.threads;
  if (g.extended())
    prepared.executable = std::make_unique<ExtendedExecutable>(x, pd.src_desc().get_size(), std::move(calls), threads);
  else prepared.executable = std::make_unique<DnnlExecutable>(std::move(calls), threads);
  return prepared;
}

}  // namespace sheaf
