// LSTM and GRU by each candidate, against loops in double precision; what the kernels of this project promise about rows.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/cpu/recurrent/kernels.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw_recurrent.h"
#include "tests/unit/runtime/cpu/reference.h"

namespace sheaf::test {
namespace {

bool has_recurrent_kernels() { return recurrent::kernels_of(16); }

StepCase with_outputs(StepCase step, const std::vector<Tensor>& expected) {
  step.outputs.clear();
  for (const Tensor& tensor : expected) step.outputs.push_back(tensor.dims);
  return step;
}

TEST(RecurrentCandidates, agree_with_loops_by_any_number_of_threads) {
  if (!has_recurrent_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  int tried = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    Draw draw(seed);
    const Op op = draw.one_of<Op>({Op::lstm, Op::gru});
    const int64_t rows = draw.number(0, 15), hidden = draw.one_of<int64_t>({8, 16, 24, 48});
    StepCase step = draw_recurrent(draw, op, rows, hidden);
    const auto expected = reference(step);
    step = with_outputs(std::move(step), expected);
    const auto model = run_step(step);
    ASSERT_TRUE(bool(model)) << to_string(model.error());
    for (const std::string& candidate : model->candidates) {
      step.candidate = candidate;
      SCOPED_TRACE(to_string(op) + " by " + candidate + ", seed " + std::to_string(seed) + " " + step.attributes.dump());
      step.threads = 1;
      const auto alone = run_step(step);
      step.threads = 3;
      const auto together = run_step(step);
      ASSERT_TRUE(bool(alone)) << to_string(alone.error());
      ASSERT_TRUE(bool(together)) << to_string(together.error());
      EXPECT_EQ(alone->candidate, candidate);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_LE(relative_error(alone->outputs[i], expected[i]), 1e-5) << "output " << i;
        if (candidate == "rows") EXPECT_EQ(alone->outputs[i].data, together->outputs[i].data) << "output " << i;
        else EXPECT_LE(relative_error(together->outputs[i], expected[i]), 1e-5) << "output " << i;
      }
      tried += candidate == "rows";
    }
  }
  EXPECT_GE(tried, 30);
}

/// One layer with a batch of `rows` rows, which comes first.
StepCase one_layer(Op op, const Tensor& x, double scale) {
  Draw draw(7);
  const int64_t gates = op == Op::lstm ? 4 : 3, hidden = 32, features = x.dims[2];
  StepCase step{op, {{"x", x}}, {{"hidden_size", hidden}, {"batch_first", true}}, {}};
  step.operands.push_back({"weight_ih_l0", draw.tensor({gates * hidden, features}, scale), true});
  step.operands.push_back({"weight_hh_l0", draw.tensor({gates * hidden, hidden}, scale), true});
  step.operands.push_back({"bias_ih_l0", draw.tensor({gates * hidden}, scale), true});
  step.operands.push_back({"bias_hh_l0", draw.tensor({gates * hidden}, scale), true});
  step.candidate = "rows";
  return with_outputs(step, reference(step));
}

Tensor row_of(const Tensor& all, int64_t row, int64_t axis) {
  Tensor one = all;
  one.dims[size_t(axis)] = 1;
  int64_t after = 1, before = 1;
  for (size_t i = size_t(axis) + 1; i < all.dims.size(); ++i) after *= all.dims[i];
  for (int64_t i = 0; i < axis; ++i) before *= all.dims[size_t(i)];
  one.data.clear();
  for (int64_t i = 0; i < before; ++i) {
    const auto from = all.data.begin() + (i * all.dims[size_t(axis)] + row) * after;
    one.data.insert(one.data.end(), from, from + after);
  }
  return one;
}

class RecurrentRows : public testing::TestWithParam<Op> {};

TEST_P(RecurrentRows, a_row_has_the_bits_that_it_has_alone) {
  if (!has_recurrent_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(3);
  const Tensor x = draw.tensor({13, 5, 20});
  const auto all = run_step(one_layer(GetParam(), x, 0.3));
  ASSERT_TRUE(bool(all)) << to_string(all.error());
  ASSERT_EQ(all->candidate, "rows");
  for (int64_t row = 0; row < 13; ++row) {
    const auto alone = run_step(one_layer(GetParam(), row_of(x, row, 0), 0.3));
    ASSERT_TRUE(bool(alone)) << to_string(alone.error());
    for (size_t i = 0; i < alone->outputs.size(); ++i)
      EXPECT_EQ(alone->outputs[i].data, row_of(all->outputs[i], row, i == 0 ? 0 : 1).data) << "row " << row << ", output " << i;
  }
}

/// Gates that are fully open or shut are exactly so, near enough; what isn't a number stays in its row.
TEST_P(RecurrentRows, saturated_gates_and_nan) {
  if (!has_recurrent_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  Draw draw(5);
  Tensor x = draw.tensor({7, 4, 20}, 1e3);
  const StepCase step = one_layer(GetParam(), x, 10);
  const auto expected = reference(step);
  const auto run = run_step(step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_LE(relative_error(run->outputs[i], expected[i]), 1e-5) << "output " << i;

  x.data[size_t(3 * 4 * 20 + 2 * 20 + 1)] = NAN;  // row 3, element 2
  x.data[size_t(5 * 4 * 20)] = INFINITY;          // row 5: saturates, or NaN where infinities meet
  const auto with_nan = run_step(one_layer(GetParam(), x, 10));
  ASSERT_TRUE(bool(with_nan)) << to_string(with_nan.error());
  const Tensor &y = with_nan->outputs[0], &before = run->outputs[0];
  for (int64_t row = 0; row < 7; ++row)
    for (int64_t element = 0; element < 4; ++element)
      for (int64_t unit = 0; unit < 32; ++unit) {
        const auto at = size_t((row * 4 + element) * 32 + unit);
        if (row == 3 && element >= 2) EXPECT_TRUE(std::isnan(y.data[at])) << row << " " << element << " " << unit;
        else if (row != 5) EXPECT_EQ(y.data[at], before.data[at]) << row << " " << element << " " << unit;
      }
}

/// Small values keep their relative precision: tanh x is x there.
TEST_P(RecurrentRows, small_values_are_as_precise_as_large_ones) {
  if (!has_recurrent_kernels()) GTEST_SKIP() << "this CPU has no AVX2";
  for (const double scale : {1e-6, 1e-3, 0.03, 0.3, 1., 3.}) {
    Draw draw(9);
    const StepCase step = one_layer(GetParam(), draw.tensor({6, 3, 20}, scale), scale);
    const auto expected = reference(step);
    const auto run = run_step(step);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LE(relative_error(run->outputs[i], expected[i]), 3e-6) << "output " << i << ", scale " << scale;
  }
}

INSTANTIATE_TEST_SUITE_P(of, RecurrentRows, testing::Values(Op::lstm, Op::gru),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace sheaf::test
