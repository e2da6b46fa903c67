// Linear: y = x · weightᵀ + bias, with residual and activation in the one primitive.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/residual.h"

namespace sheaf {
namespace {

using dnnl::inner_product_forward;

/// A product so small that finding the primitive's arguments would take most of the time (oneDNN takes 0.4 to
/// 1 µs a call, and allocates for its argument table). Also what handles in_features = 0, where y is the
/// bias.
class SmallLinear final : public Executable {
 public:
  struct Shape {
    int64_t rows, in, out;
    int x, weight, bias, residual, y;  ///< buffers; -1: absent
  };
  SmallLinear(Shape shape, std::optional<Activation> activation) : shape_(shape), activation_(activation) {}

  void run(void* const* buffers, void* scratch) override {
    const auto [rows, in, out, x_buffer, weight_buffer, bias_buffer, residual_buffer, y_buffer] = shape_;
    const auto* x = static_cast<const float*>(buffers[x_buffer]);
    const auto* weight = static_cast<const float*>(buffers[weight_buffer]);
    const auto* bias = bias_buffer < 0 ? nullptr : static_cast<const float*>(buffers[bias_buffer]);
    const auto* residual = residual_buffer < 0 ? nullptr : static_cast<const float*>(buffers[residual_buffer]);
    auto* y = static_cast<float*>(buffers[y_buffer]);
    for (int64_t row = 0; row < rows; ++row, x += in, y += out) {
      for (int64_t o = 0; o < out; ++o) {
        float sum = bias ? bias[o] : 0.f;
        const float* w = weight + o * in;
        for (int64_t i = 0; i < in; ++i) sum += x[i] * w[i];
        if (residual) sum += residual[row * out + o];
        y[o] = activation_ ? apply(*activation_, sum) : sum;
      }
    }
  }

 private:
  Shape shape_;
  std::optional<Activation> activation_;
};

}  // namespace

Prepared prepare_linear(const Operation& operation) {
  const TensorSpec &x = operation.operand("x"), &weight = operation.operand("weight"), &y = operation.output();
  require(!x.dims.empty() && weight.dims.size() == 2 && x.dims.back() == weight.dims[1],
          "x " + to_string(x.dims) + " and weight " + to_string(weight.dims) + " don't fit");
  const int64_t in = weight.dims[1], out = weight.dims[0], rows = product(x.dims, 0, x.dims.size() - 1);
  std::vector<int64_t> expected = x.dims;
  expected.back() = out;
  require(y.dims == expected, "output has shape " + to_string(y.dims) + ", expected " + to_string(expected));
  if (operation.has("bias"))
    require(operation.wide_operand("bias").dims == DnnlDims{out}, "bias should have shape " + to_string(DnnlDims{out}));

  Prepared prepared = operation.prepared();
  const auto type = operation.data_type();
  const bool narrow = operation.dtype() != DType::float32;
  require(in > 0 || !narrow, "a layer without input features computes in float32");
  if (!narrow && (in == 0 || rows * out * in <= kSmallProducts)) {
    if (operation.has("residual")) {
      require(operation.operand("residual").dims == y.dims, "residual should have shape " + to_string(y.dims));
      prepared.in_place.push_back({operation.find("residual"), 0});
    }
    prepared.executable = std::make_unique<SmallLinear>(
        SmallLinear::Shape{rows, in, out, operation.find("x"), operation.find("weight"), operation.find("bias"),
                           operation.find("residual"), operation.output_buffer().buffer},
        activation_of(operation));
    take_loop(prepared, in == 0 ? "without input features the result is the bias"
                                : std::to_string(rows * out * in) + " multiplications, at most " +
                                      std::to_string(kSmallProducts) + ": a call of oneDNN would take longer than they do");
    return prepared;
  }

  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  const DnnlDims weight_dims = {out, in};
  const DnnlDesc x_desc = plain_desc({rows, in}, type), y_desc = plain_desc({rows, out}, type);
  const DnnlDesc weight_plain = plain_desc(weight_dims, type);
  const DnnlDesc weight_wanted = operation.constant("weight") ? any_desc(weight_dims, type) : weight_plain;
  const DnnlDesc bias = operation.has("bias") ? plain_desc({out}) : DnnlDesc();
  const inner_product_forward::primitive_desc pd(
      inner_product_forward::desc(dnnl::prop_kind::forward_inference, x_desc, weight_wanted, bias, y_desc), attributes,
      dnnl_engine());
  prepared.inputs[operation.find("weight")] = dnnl_tensor(weight_dims, pd.weights_desc(), weight_plain, "oi");
  take_library(operation, pd, prepared,
               operation.constant("weight") ? "the weight stands still, so oneDNN chooses its format and it is reordered once"
                                            : "the weight changes with each step, so it stays as it is");

  ScratchPlan scratch;
  ResidualCopy residual(operation, y_desc, prepared);
  DnnlCall call{inner_product_forward(pd)};
  call.argument(DNNL_ARG_SRC, x_desc, operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, y_desc, operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (operation.has("bias")) call.argument(DNNL_ARG_BIAS, bias, operation.input_buffer("bias"));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
