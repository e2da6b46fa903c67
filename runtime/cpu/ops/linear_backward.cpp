// Gradients of linear: dx = dy · weight, dweight = dyᵀ · x, dbias = Σ dy over the rows.
#include <algorithm>

#include "runtime/cpu/ops/candidate.h"
#include "runtime/cpu/ops/choice.h"
#include "runtime/cpu/ops/column_sums.h"
#include "runtime/cpu/ops/linear_cost.h"
#include "runtime/cpu/ops/stages.h"

namespace sheaf {
namespace {

/// Shapes of dy [rows, out] and x or dx [rows, in], and their layouts.
struct Sizes {
  int64_t rows, in, out;
  BufferRef dy, weight, x, dbias;  ///< weight: or dweight; x: or dx
  bool bias = false;
};

constexpr const char* kTooSmall = "at most 2048 multiplications: a call of oneDNN would take longer than they do";

/// Products too small for a primitive's overhead; also those over nothing (0 features).
class SmallDataGradient final : public Executable {
 public:
  explicit SmallDataGradient(Sizes sizes) : s_(sizes) {}
  void run(void* const* buffers, void* scratch) override {
    const auto* dy = reinterpret_cast<const float*>(s_.dy.resolve(buffers, scratch));
    const auto* weight = reinterpret_cast<const float*>(s_.weight.resolve(buffers, scratch));
    auto* dx = reinterpret_cast<float*>(s_.x.resolve(buffers, scratch));
    for (int64_t row = 0; row < s_.rows; ++row, dx += s_.in, dy += s_.out) {
      std::fill_n(dx, s_.in, 0.f);
      for (int64_t o = 0; o < s_.out; ++o)
        for (int64_t i = 0; i < s_.in; ++i) dx[i] += dy[o] * weight[o * s_.in + i];
    }
  }

 private:
  Sizes s_;
};

class SmallWeightGradient final : public Executable {
 public:
  explicit SmallWeightGradient(Sizes sizes) : s_(sizes) {}
  void run(void* const* buffers, void* scratch) override {
    const auto* dy = reinterpret_cast<const float*>(s_.dy.resolve(buffers, scratch));
    const auto* x = reinterpret_cast<const float*>(s_.x.resolve(buffers, scratch));
    auto* dweight = reinterpret_cast<float*>(s_.weight.resolve(buffers, scratch));
    auto* dbias = s_.bias ? reinterpret_cast<float*>(s_.dbias.resolve(buffers, scratch)) : nullptr;
    std::fill_n(dweight, s_.out * s_.in, 0.f);
    if (dbias) std::fill_n(dbias, s_.out, 0.f);
    for (int64_t row = 0; row < s_.rows; ++row, x += s_.in, dy += s_.out) {
      for (int64_t o = 0; o < s_.out; ++o) {
        if (dbias) dbias[o] += dy[o];
        for (int64_t i = 0; i < s_.in; ++i) dweight[o * s_.in + i] += dy[o] * x[i];
      }
    }
  }

 private:
  Sizes s_;
};

/// What the ways to compute dx by oneDNN have in common; `dy` and `dx` are what the primitive calls those arguments.
template <typename Primitive, typename PrimitiveDesc>
Prepared finish_data(const Operation& operation, const Sizes& s, const PrimitiveDesc& pd, int dy, int dx, const char* why) {
  const DnnlDims weight = {s.out, s.in};
  const auto type = operation.data_type();
  Prepared prepared = operation.prepared();
  prepared.inputs[size_t(operation.find("weight"))] = dnnl_tensor(weight, pd.weights_desc(), plain_desc(weight, type), "oi");
  take_library(operation, pd, prepared, why);
  ScratchPlan scratch;
  DnnlCall call{Primitive(pd)};
  call.argument(dy, plain_desc({s.rows, s.out}, type), s.dy)
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), s.weight)
      .argument(dx, plain_desc({s.rows, s.in}, type), s.x)
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

Prepared prepare_data_by_matmul(const Operation& operation, const Sizes& s) {
  const DnnlDims weight = {s.out, s.in};
  const auto type = operation.data_type();
  const dnnl::matmul::primitive_desc pd(
      dnnl::matmul::desc(plain_desc({s.rows, s.out}, type),
                         operation.constant("weight") ? any_desc(weight, type) : plain_desc(weight, type),
                         plain_desc({s.rows, s.in}, type)),
      step_attributes(), dnnl_engine());
  return finish_data<dnnl::matmul>(operation, s, pd, DNNL_ARG_SRC, DNNL_ARG_DST, "a matrix product, dy · weight");
}

Prepared prepare_data_by_inner_product(const Operation& operation, const Sizes& s) {
  const DnnlDesc dy = plain_desc({s.rows, s.out}), weight = plain_desc({s.out, s.in}), dx = plain_desc({s.rows, s.in});
  const dnnl::inner_product_forward::primitive_desc forward(
      dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_training, dx, weight, dy), dnnl_engine());
  const dnnl::inner_product_backward_data::primitive_desc pd(dnnl::inner_product_backward_data::desc(dx, weight, dy),
                                                             step_attributes(), dnnl_engine(), forward);
  return finish_data<dnnl::inner_product_backward_data>(operation, s, pd, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC,
                                                        "an inner product's gradient, with the weight as it is");
}

// Both run at much the same rate while dx is narrow; then the product of matrices slows down: with 788 rows and 768 output features, one
// thread of a Xeon with AVX-512, GFLOP/s by input features,
//
//   1024       2048       3072       4096       6144
//   123, 125   112, 136   57, 120    118, 123   74, 142
double inner_product_gradient_seconds(const Operation& operation, const Sizes& s) {
  return inner_product_seconds(operation, s.rows, s.in, s.out);
}
double matmul_data_seconds(const Operation& operation, const Sizes& s) {
  constexpr double kWide = 1024, kSlower = 1. / 4096;
  return inner_product_gradient_seconds(operation, s) * (.98 + kSlower * std::max(0., double(s.in) - kWide));
}

constexpr const char* kPlainGradient = "the gradient is left plain, as the weight it is added to is";

Prepared prepare_weight_by_inner_product(const Operation& operation, const Sizes& s) {
  using dnnl::inner_product_backward_weights;
  const auto type = operation.data_type();
  const DnnlDesc x = plain_desc({s.rows, s.in}, type), dy = plain_desc({s.rows, s.out}, type),
                 dweight = plain_desc({s.out, s.in}), dbias = s.bias ? plain_desc({s.out}) : DnnlDesc();
  const dnnl::inner_product_forward::primitive_desc forward(
      dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_training, x, plain_desc({s.out, s.in}, type), dbias, dy),
      dnnl_engine());
  const inner_product_backward_weights::primitive_desc pd(inner_product_backward_weights::desc(x, dweight, dbias, dy),
                                                          step_attributes(), dnnl_engine(), forward);
  Prepared prepared = operation.prepared();
  take_library(operation, pd, prepared, kPlainGradient);
  ScratchPlan scratch;
  DnnlCall call{inner_product_backward_weights(pd)};
  call.argument(DNNL_ARG_SRC, x, s.x)
      .argument(DNNL_ARG_DIFF_DST, dy, s.dy)
      .argument(DNNL_ARG_DIFF_WEIGHTS, dweight, s.weight)
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  if (s.bias) call.argument(DNNL_ARG_DIFF_BIAS, dbias, s.dbias);
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

Prepared prepare_weight_by_matmul(const Operation& operation, const Sizes& s) {
  const auto type = operation.data_type();
  const DnnlDesc dy({s.out, s.rows}, type, DnnlDims{1, s.out}), x = plain_desc({s.rows, s.in}, type),
                                                                dweight = plain_desc({s.out, s.in});
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(dy, x, dweight), step_attributes(), dnnl_engine());
  Prepared prepared = operation.prepared();
  take_library(operation, pd, prepared, kPlainGradient);
  ScratchPlan scratch;
  DnnlCall call{dnnl::matmul(pd)};
  call.argument(DNNL_ARG_SRC, dy, s.dy)
      .argument(DNNL_ARG_WEIGHTS, x, s.x)
      .argument(DNNL_ARG_DST, dweight, s.weight)
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  using Stage = std::variant<DnnlCall, ColumnSums>;
  std::vector<Stage> stages;
  stages.emplace_back(std::move(call));
  if (s.bias) stages.emplace_back(ColumnSums{s.dy, s.dbias, type, s.rows, s.out});
  prepared.executable = std::make_unique<StagedExecutable<Stage>>(std::move(stages), operation.request.threads);
  return prepared;
}

// The inner product adds the bias's gradient on its way, where the matrix product needs a pass of its own; but with few rows it slows down
// as the weight grows. Milliseconds on two cores of Zen 4, inner product and matrix product, by rows and features in and out:
//
//   128, 1024 → 1024   128, 784 → 784   512, 256 → 1024   512, 1024 → 1024   3136, 192 → 768   12544, 384 → 96
//   1.67, 1.36         0.73, 0.77       1.76, 1.56        6.36, 5.59         5.44, 6.53        8.75, 9.20
double matmul_weight_seconds(const Operation& operation, const Sizes& s) {
  constexpr int64_t kFewRows = 512, kLargeWeight = 1 << 18;
  const bool gains = s.rows <= kFewRows && s.in * s.out >= kLargeWeight;
  return inner_product_gradient_seconds(operation, s) * (gains ? .97 : 1.1);
}

}  // namespace

Prepared prepare_linear_backward_data(const Operation& operation) {
  const DnnlDims &dy = operation.operand("dy").dims, &weight = operation.operand("weight").dims, &dx = operation.output().dims;
  require(!dy.empty() && weight.size() == 2 && dy.back() == weight[0],
          "dy " + to_string(dy) + " and weight " + to_string(weight) + " don't fit");
  DnnlDims expected = dy;
  expected.back() = weight[1];
  require(dx == expected, "output has shape " + to_string(dx) + ", expected " + to_string(expected));
  const Sizes s{
      product(dy, 0, dy.size() - 1), weight[1], weight[0], operation.input_buffer("dy"), operation.input_buffer("weight"),
      operation.output_buffer(),     {}};
  const bool narrow = operation.dtype() != DType::float32;
  require(s.out > 0 || !narrow, "a layer without features computes in float32");
  if (!narrow && (s.out == 0 || s.rows * s.out * s.in <= kSmallProducts)) {
    Prepared prepared = operation.prepared();
    prepared.executable = std::make_unique<SmallDataGradient>(s);
    take_loop(prepared, s.out == 0 ? "without output features the gradient is zero" : kTooSmall);
    return prepared;
  }
  static constexpr Candidate<Sizes> candidates[] = {
      {"matmul", [](const Operation&, const Sizes&) { return true; }, matmul_data_seconds, prepare_data_by_matmul},
      {"inner_product", [](const Operation& of, const Sizes&) { return of.dtype() == DType::float32; },
       inner_product_gradient_seconds, prepare_data_by_inner_product},
  };
  return prepare_one_of<Sizes>(candidates, operation, s);
}

Prepared prepare_linear_backward_weight(const Operation& operation) {
  const DnnlDims &x = operation.operand("x").dims, &dy = operation.operand("dy").dims, &dweight = operation.wide_output().dims;
  const bool bias = operation.flag("bias", false);
  require(operation.request.outputs.size() == (bias ? 2 : 1),
          bias ? "expected dweight and dbias as outputs" : "expected dweight as output");
  require(!x.empty() && x.size() == dy.size() && std::equal(x.begin(), x.end() - 1, dy.begin()),
          "x " + to_string(x) + " and dy " + to_string(dy) + " don't fit");
  const DnnlDims expected = {dy.back(), x.back()};
  require(dweight == expected, "output has shape " + to_string(dweight) + ", expected " + to_string(expected));
  if (bias)
    require(operation.wide_output(1).dims == DnnlDims{dy.back()}, "dbias should have shape " + to_string(DnnlDims{dy.back()}));
  Sizes s{product(x, 0, x.size() - 1), x.back(), dy.back(), operation.input_buffer("dy"), operation.output_buffer(),
          operation.input_buffer("x"), {},       bias};
  if (bias) s.dbias = operation.output_buffer(1);
  const bool narrow = operation.dtype() != DType::float32;
  require(s.in > 0 || !narrow, "a layer without features computes in float32");
  if (!narrow && (s.in == 0 || s.rows * s.out * s.in <= kSmallProducts)) {
    Prepared prepared = operation.prepared();
    prepared.executable = std::make_unique<SmallWeightGradient>(s);
    take_loop(prepared, s.in == 0 ? "without input features there is only the bias's gradient" : kTooSmall);
    return prepared;
  }
  static constexpr Candidate<Sizes> candidates[] = {
      {"inner_product", [](const Operation&, const Sizes&) { return true; }, inner_product_gradient_seconds,
       prepare_weight_by_inner_product},
      {"matmul", [](const Operation& of, const Sizes&) { return of.dtype() == DType::float32; }, matmul_weight_seconds,
       prepare_weight_by_matmul},
  };
  return prepare_one_of<Sizes>(candidates, operation, s);
}

}  // namespace sheaf
