// Sizes at which oneDNN takes other implementations than for small ones.
#include "tests/unit/cpu/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sheaf::test {
namespace {

Tensor normal(std::vector<int64_t> dims, float scale, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> distribution(0, scale);
  Tensor result(std::move(dims));
  for (float& value : result.data) value = distribution(generator);
  return result;
}

void expect_reference(StepCase c) {
  const std::vector<Tensor> expected = reference(c);
  c.outputs.clear();
  for (const Tensor& tensor : expected) c.outputs.push_back(tensor.dims);
  for (int threads : {1, 2}) {
    c.threads = threads;
    auto run = run_step(c);
    ASSERT_TRUE(bool(run)) << to_string(run.error());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_LT(relative_error(run->outputs[i], expected[i]), 1e-5)
          << c.op << " output " << i << " by " << run->implementation << ", " << threads << " threads";
  }
}

StepCase recurrent(const std::string& op, int64_t steps, int64_t rows, int64_t hidden) {
  const int64_t gates = op == "lstm" ? 4 : 3;
  StepCase c;
  c.op = op;
  c.attributes = {{"hidden_size", hidden}};
  const float scale = 1 / std::sqrt(float(hidden));
  c.operands = {{"x", normal({steps, rows, hidden}, 1, 1), false},
                {"weight_ih_l0", normal({gates * hidden, hidden}, scale, 2), true},
                {"weight_hh_l0", normal({gates * hidden, hidden}, scale, 3), true},
                {"bias_ih_l0", normal({gates * hidden}, scale, 4), true},
                {"bias_hh_l0", normal({gates * hidden}, scale, 5), true}};
  return c;
}

TEST(LargeSteps, lstm_of_a_word_language_model) { expect_reference(recurrent("lstm", 12, 20, 200)); }
TEST(LargeSteps, gru_of_a_word_language_model) { expect_reference(recurrent("gru", 35, 20, 200)); }

}  // namespace
}  // namespace sheaf::test
