// Linear: y = x · weightᵀ + bias, with residual and activation in the one primitive.
#include "runtime/cpu/ops/activation.h"
#include "runtime/cpu/ops/candidate.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/linear_cost.h"
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

struct LinearSizes {
  int64_t rows, in, out;
};

/// What both ways by oneDNN have in common. `weight`: as the primitive wants it.
template <typename Primitive, typename PrimitiveDesc>
Prepared finish_linear(const Operation& operation, const PrimitiveDesc& pd, TensorSpec weight, const char* why) {
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("weight"))] = std::move(weight);
  take_library(operation, pd, prepared, why);
  ScratchPlan scratch;
  const DnnlDesc y = pd.dst_desc();
  ResidualCopy residual(operation, y, prepared);
  DnnlCall call{Primitive(pd)};
  call.argument(DNNL_ARG_SRC, pd.src_desc(), operation.input_buffer("x"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("weight"))
      .argument(DNNL_ARG_DST, y, operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (operation.has("bias")) call.argument(DNNL_ARG_BIAS, pd.bias_desc(), operation.input_buffer("bias"));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable =
      std::make_unique<ResidualExecutable>(std::move(residual), one_call(std::move(call)), operation.request.threads);
  return prepared;
}

dnnl::primitive_attr linear_attributes(const Operation& operation) {
  dnnl::primitive_attr attributes = step_attributes();
  attributes.set_post_ops(step_post_ops(operation));
  return attributes;
}

Prepared prepare_linear_by_inner_product(const Operation& operation, const LinearSizes& s) {
  const auto type = operation.data_type();
  const bool constant = operation.constant("weight");
  const DnnlDims weight = {s.out, s.in};
  const DnnlDesc plain = plain_desc(weight, type), bias = operation.has("bias") ? plain_desc({s.out}) : DnnlDesc();
  const inner_product_forward::primitive_desc pd(
      inner_product_forward::desc(dnnl::prop_kind::forward_inference, plain_desc({s.rows, s.in}, type),
                                  constant ? any_desc(weight, type) : plain, bias, plain_desc({s.rows, s.out}, type)),
      linear_attributes(operation), dnnl_engine());
  return finish_linear<inner_product_forward>(
      operation, pd, dnnl_tensor(weight, pd.weights_desc(), plain, "oi"),
      constant ? "the weight stands still, so oneDNN chooses its format and it is reordered once"
               : "the weight changes with each step, so it stays as it is");
}

Prepared prepare_linear_by_matmul(const Operation& operation, const LinearSizes& s) {
  const auto type = operation.data_type();
  const DnnlDesc transposed({s.in, s.out}, type, DnnlDims{1, s.in}),
      bias = operation.has("bias") ? plain_desc({1, s.out}) : DnnlDesc();
  const dnnl::matmul::desc product(plain_desc({s.rows, s.in}, type), transposed, bias, plain_desc({s.rows, s.out}, type));
  const dnnl::matmul::primitive_desc pd(product, linear_attributes(operation), dnnl_engine());
  return finish_linear<dnnl::matmul>(operation, pd, plain_tensor(operation.dtype(), {s.out, s.in}),
                                     "a matrix product with the weight as it is, which changes with each step");
}

double linear_inner_product_seconds(const Operation& operation, const LinearSizes& s) {
  return inner_product_seconds(operation, s.rows, s.in, s.out);
}

// An inner product packs a weight that changes as it goes, which few rows don't repay. GFLOP/s of one thread of a Zen 4, inner product and
// matrix product, by rows and features in and out:
//
//   16, 1024 → 4096   32, 512 → 512   64, 784 → 512   128, 1024 → 1024   256, 768 → 768   512, 256 → 1024   788, 768 → 768
//   32, 51            71, 96          104, 108        86, 99             102, 105         102, 103          105, 104
double linear_matmul_seconds(const Operation& operation, const LinearSizes& s) {
  constexpr int64_t kFewRows = 384;
  return linear_inner_product_seconds(operation, s) * (s.rows <= kFewRows ? .9 : 1.02);
}

constexpr Candidate<LinearSizes> kLinearCandidates[] = {
    {"inner_product", [](const Operation&, const LinearSizes&) { return true; }, linear_inner_product_seconds,
     prepare_linear_by_inner_product},
    {"matmul", [](const Operation& of, const LinearSizes&) { return !of.constant("weight") && of.dtype() == DType::float32; },
     linear_matmul_seconds, prepare_linear_by_matmul},
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

  const bool narrow = operation.dtype() != DType::float32;
  require(in > 0 || !narrow, "a layer without input features computes in float32");
  if (!narrow && (in == 0 || rows * out * in <= kSmallProducts)) {
    Prepared prepared = operation.prepared();
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

  return prepare_one_of<LinearSizes>(kLinearCandidates, operation, {rows, in, out});
}

}  // namespace sheaf
