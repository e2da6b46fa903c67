// Linear layers, their gradients and matmul through the product's own library, with stand-ins for the driver and cuBLASLt: numbers,
// memory, handles, streams, and mistakes that must be found.
#include "tests/cuda/library_steps.h"
#include "tests/cuda/stand_in/cublaslt.h"

namespace sheaf::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// x [rows, k] times w [columns, k] transposed.
Floats times(const Floats& x, const Floats& w, int64_t rows, int64_t k, int64_t columns) {
  Floats y;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i) sum += double(x[size_t(r * k + i)]) * w[size_t(c * k + i)];
      y.push_back(float(sum));
    }
  }
  return y;
}
Floats transposed(const Floats& x, int64_t rows, int64_t columns) {
  Floats y(x.size());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) y[size_t(c * rows + r)] = x[size_t(r * columns + c)];
  return y;
}

class Products : public LibrarySteps {
 protected:
  void TearDown() override {
    stand_in::refuse_epilogues(0);
    LibrarySteps::TearDown();
  }
};

Case linear(DType dtype, bool bias, bool residual, Json activation = nullptr, int64_t in = 16) {
  std::vector<std::string> roles = {"x", "weight"};
  std::vector<TensorSpec> inputs = {plain_tensor(dtype, {3, 2, in}), plain_tensor(dtype, {8, in})};
  if (bias) {
    roles.push_back("bias");
    inputs.push_back(plain_tensor(kF32, {8}));
  }
  if (residual) {
    roles.push_back("residual");
    inputs.push_back(plain_tensor(dtype, {3, 2, 8}));
  }
  Json attributes = Json::object();
  if (!activation.is_null()) attributes["activation"] = {{"kind", activation}};
  return {Op::linear, roles, inputs, {plain_tensor(dtype, {3, 2, 8})}, attributes};
}

Floats linear_by_hand(const Case& of, bool bias, bool residual, bool relu) {
  const int64_t in = of.inputs[0].dims.back();
  Floats y = times(of.values[0], of.values[1], 6, in, 8);
  for (size_t i = 0; i < y.size(); ++i) {
    if (bias) y[i] += of.values[2][i % 8];
    if (residual) y[i] += of.values.back()[i];
    if (relu) y[i] = std::max(y[i], 0.F);
  }
  return y;
}

TEST_F(Products, LinearOfEveryKind) {
  for (const DType dtype : {kF32, kBf16, kF16}) {
    for (const bool bias : {false, true}) {
      for (const bool residual : {false, true}) {
        for (const bool recorded : {false, true}) {
          Case of = linear(dtype, bias, residual);
          of.recorded = recorded;
          if (residual) of.in_place = int(of.inputs.size()) - 1;
          auto y = run(of);
          ASSERT_TRUE(y) << y.error().message() << ::testing::PrintToString(stand_in::take_faults());
          expect_near((*y)[0], linear_by_hand(of, bias, residual, false), dtype);
          EXPECT_EQ(implementation, "cuBLASLt algorithm 66, tile 20, 4 parts of k");
        }
      }
    }
  }
}

TEST_F(Products, LinearWithItsActivation) {
  Case fast = linear(kF16, true, false, "relu");
  fast.fast = true;
  auto y = run(fast);
  ASSERT_TRUE(y) << y.error().message();
  expect_near((*y)[0], linear_by_hand(fast, true, false, true), kF16);
  // Behind the product, in kernels of the project's own, which no stand-in runs.
  auto behind = run(linear(kF32, true, true, "relu"));
  ASSERT_TRUE(behind) << behind.error().message();
  EXPECT_THAT(reason, HasSubstr("keeps NaN"));
  stand_in::refuse_epilogues(CUBLASLT_EPILOGUE_RELU);
  ASSERT_TRUE(run(fast));
  EXPECT_THAT(reason, HasSubstr("no algorithm with it"));
  stand_in::refuse_epilogues(CUBLASLT_EPILOGUE_BIAS);
  Case of = linear(kBf16, true, false);
  ASSERT_TRUE(run(of));
  EXPECT_THAT(reason, HasSubstr("bias by the project's own kernel"));
  stand_in::refuse_epilogues(~0U);
  EXPECT_FALSE(run(of));
}

TEST_F(Products, RowsThatKeepNoAlignment) {
  for (const DType dtype : {kF32, kBf16}) {
    for (const size_t shift : {size_t{0}, size_of(dtype)}) {
      Case of = linear(dtype, true, true, nullptr, shift == 0 ? 7 : 16);
      of.operand_shift = shift;
      auto y = run(of);
      ASSERT_TRUE(y) << y.error().message() << ::testing::PrintToString(stand_in::take_faults());
      expect_near((*y)[0], linear_by_hand(of, true, true, false), dtype);
    }
  }
}

TEST_F(Products, GradientsOfLinear) {
  for (const DType dtype : {kF32, kBf16, kF16}) {
    const int64_t rows = 12, in = 16, out = 8;
    Case data(Op::linear_backward_data, {"dy", "weight"}, {plain_tensor(dtype, {rows, out}), plain_tensor(dtype, {out, in})},
              {plain_tensor(dtype, {rows, in})});
    auto dx = run(data);
    ASSERT_TRUE(dx) << dx.error().message();
    expect_near((*dx)[0], times(data.values[0], transposed(data.values[1], out, in), rows, out, in), dtype);
    for (const uint32_t refused : {0U, uint32_t{CUBLASLT_EPILOGUE_BGRADB}}) {
      stand_in::refuse_epilogues(refused);
      Case weight(Op::linear_backward_weight, {"x", "dy"}, {plain_tensor(dtype, {rows, in}), plain_tensor(dtype, {rows, out})},
                  {plain_tensor(kF32, {out, in}), plain_tensor(kF32, {out})}, {{"bias", true}});
      auto gradients = run(weight);
      ASSERT_TRUE(gradients) << gradients.error().message() << ::testing::PrintToString(stand_in::take_faults());
      const Floats dy = transposed(weight.values[1], rows, out);
      expect_near((*gradients)[0], times(dy, transposed(weight.values[0], rows, in), out, rows, in), kF32);
      if (refused) EXPECT_THAT(reason, HasSubstr("own kernel"));
      else expect_near((*gradients)[1], times(dy, Floats(size_t(rows), 1), out, rows, 1), kF32);
    }
    stand_in::refuse_epilogues(0);
  }
}

TEST_F(Products, MatmulInBatches) {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      // One b for all of a's second dimension, another for each of its first.
      const int64_t m = 4, k = 8, n = 6;
      const Dims a = transpose_a ? Dims{2, 3, k, m} : Dims{2, 3, m, k}, b = transpose_b ? Dims{2, 1, n, k} : Dims{2, 1, k, n};
      Case of(Op::matmul, {"a", "b"}, {plain_tensor(kF32, a), plain_tensor(kF32, b)}, {plain_tensor(kF32, {2, 3, m, n})},
              {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
      auto y = run(of);
      ASSERT_TRUE(y) << y.error().message() << ::testing::PrintToString(stand_in::take_faults());
      Floats expected;
      for (int64_t which = 0; which < 6; ++which) {
        const auto a_at = of.values[0].begin() + which * m * k, b_at = of.values[1].begin() + which / 3 * k * n;
        Floats left(a_at, a_at + m * k), right(b_at, b_at + k * n);
        if (transpose_a) left = transposed(left, k, m);
        if (!transpose_b) right = transposed(right, k, n);
        for (const float value : times(left, right, m, k, n)) expected.push_back(value);
      }
      expect_near((*y)[0], expected, kF32);
    }
  }
}

/// Its algorithm 99's sums depend on the order of threads, 98 adds in the result's type.
TEST_F(Products, OrderOfSumsIsWhatWasAskedFor) {
  const auto algorithm = [&](DType dtype, bool deterministic) {
    Case of = linear(dtype, false, false);
    of.deterministic = deterministic;
    auto prepared = prepare(of);
    return prepared ? prepared->implementation : prepared.error().message();
  };
  EXPECT_THAT(algorithm(kF32, true), HasSubstr("algorithm 66"));
  EXPECT_THAT(algorithm(kF32, false), HasSubstr("algorithm 99"));
  EXPECT_THAT(algorithm(kBf16, false), HasSubstr("algorithm 66"));
}

TEST_F(Products, MistakesAreFound) {
  const auto mistake = [&](auto&& make) {
    Case of = linear(kF32, true, true);
    make(of);
    auto result = run(of);
    EXPECT_FALSE(result);
    if (!result) EXPECT_THAT(result.error().message(), HasSubstr("cublasLtMatmul: CUBLAS_STATUS_INVALID_VALUE"));
    return stand_in::take_faults();
  };
  EXPECT_THAT(mistake([](Case& of) { of.scratch_shift = 64; }),
              ElementsAre("cublasLtMatmul: the workspace is not aligned to 256 bytes"));
  EXPECT_THAT(mistake([](Case& of) { of.operand_shift = 2; }), ElementsAre("cublasLtMatmul: A is not aligned to 4 bytes"));
  EXPECT_THAT(mistake([](Case& of) { of.in_place = 0; }), ElementsAre("cublasLtMatmul: D and B overlap"));
  EXPECT_THAT(mistake([](Case& of) { of.device_of_stream = 1; }),
              ElementsAre("cublasLtMatmul: handle, stream and current context are of different devices"));
}

}  // namespace
}  // namespace sheaf::cuda
