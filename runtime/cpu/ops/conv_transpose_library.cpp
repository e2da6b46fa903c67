// Transposed convolution by oneDNN: its deconvolution, and the matrix product that one pixel's is.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/conv_transpose.h"

#include <algorithm>
#include <cstring>

namespace sheaf {
namespace {

using dnnl::deconvolution_forward;

/// What oneDNN asks for besides the shape.
struct Deconvolution {
  DnnlDims x, padding_end;  ///< x with zeros behind its end, perhaps
  DnnlDims weight;
  DnnlDesc weight_plain;  ///< PyTorch's weight [I, O/g, k…] seen as oneDNN's [g,] O/g, I/g, k…

  Deconvolution(const Operation& operation, const ConvShape& mirror) : x(mirror.y), padding_end(mirror.padding_end) {
    for (size_t i = 0; i + 2 < x.size(); ++i) {
      // oneDNN wants padding_end > -stride. Zeros behind the input's end, cut off again, change nothing else.
      for (; padding_end[i] + mirror.stride[i] <= 0; padding_end[i] += mirror.stride[i]) ++x[i + 2];
    }
    const DnnlDims& dims = operation.operand("weight").dims;
    const int64_t in = dims[0] / mirror.groups, out = dims[1], kernel = product(dims, 2, dims.size());
    weight = {out, in};
    DnnlDims strides = {kernel, out * kernel};
    int64_t stride = kernel;
    for (size_t i = 2; i < dims.size(); ++i) {
      stride /= dims[i];
      weight.push_back(dims[i]);
      strides.push_back(stride);
    }
    if (mirror.groups > 1) {
      weight.insert(weight.begin(), mirror.groups);
      strides.insert(strides.begin(), in * out * kernel);
    }
    weight_plain = DnnlDesc(weight, operation.data_type(), strides);
  }
};

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

}  // namespace

bool is_one_pixel(const Operation&, const ConvShape& mirror) {
  for (size_t i = 2; i < mirror.y.size(); ++i)
    if (mirror.y[i] != 1 || mirror.x[i] != mirror.weight[i] || mirror.padding_begin[i - 2] != 0) return false;
  return mirror.groups == 1;
}

Prepared prepare_conv_transpose_product(const Operation& operation, const ConvShape& g) {
  const int64_t rows = g.y[0], in = g.y[1], out = g.x[1], kernel = product(g.x, 2, g.x.size());
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
  take_library(operation, pd, prepared, "one pixel spread out to the kernel's size is one matrix product");
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

Prepared prepare_conv_transpose_direct(const Operation& operation, const ConvShape& g) {
  const Deconvolution wanted(operation, g);
  const bool extended = wanted.x != g.y;
  const auto type = operation.data_type();
  const DnnlDesc bias = g.bias.empty() ? DnnlDesc() : plain_desc(g.bias);
  const deconvolution_forward::primitive_desc pd(
      deconvolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct,
                                  extended ? plain_desc(wanted.x, type) : any_desc(g.y, type), any_desc(wanted.weight, type),
                                  bias, any_desc(g.x, type), g.stride, gaps_of(g.dilation), g.padding_begin,
                                  wanted.padding_end),
      step_attributes(), dnnl_engine());

  Prepared prepared = operation.prepared();
  const std::string letters = activation_letters(g.y.size());
  const std::string weight_letters = (g.groups > 1 ? "goi" : "oi") + letters.substr(2);
  if (!extended) prepared.inputs[operation.find("x")] = activation_tensor(g.y, pd.src_desc());
  prepared.inputs[operation.find("weight")] =
      dnnl_tensor(operation.operand("weight").dims, pd.weights_desc(), wanted.weight_plain, weight_letters);
  prepared.outputs[0] = activation_tensor(g.x, pd.dst_desc());
  take_library(operation, pd, prepared,
               extended ? "direct deconvolution of x with zeros behind its end, which oneDNN's limit on padding asks for"
                        : "direct deconvolution, in the formats that oneDNN prefers");
  ScratchPlan scratch;
  std::vector<DnnlCall> calls;
  BufferRef x = operation.input_buffer("x");
  if (extended) {
    const BufferRef extended = scratch.take(pd.src_desc().get_size());
    const DnnlDesc from = plain_desc(g.y, type), to = pd.src_desc().submemory_desc(g.y, DnnlDims(g.y.size(), 0));
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
  if (extended)
    prepared.executable = std::make_unique<ExtendedExecutable>(x, pd.src_desc().get_size(), std::move(calls), threads);
  else prepared.executable = std::make_unique<DnnlExecutable>(std::move(calls), threads);
  return prepared;
}

}  // namespace sheaf
