// Gradients of LSTM, GRU and RNN, compared with central differences of the forward pass in double precision.
#include <gtest/gtest.h>

#include "runtime/ops/recurrent.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/draw.h"
#include "tests/unit/runtime/cpu/reference.h"
#include "tests/unit/runtime/cpu/training_runner.h"

namespace sheaf::test {
namespace {

/// A forward step with everything drawn at random: gates, states, directions, layout.
StepCase draw_step(Draw& draw, Op op, int64_t least, int64_t most) {
  const bool bidirectional = draw.chance(50), first = draw.chance(50), bias = draw.chance(70), batched = draw.chance(85);
  const int64_t T = draw.number(least > 1 ? 2 : 1, 5), N = batched ? draw.number(least, std::max<int64_t>(least, most / 2)) : 1,
                I = draw.number(least, most), H = draw.number(least, most), layers = draw.number(1, 3),
                D = bidirectional ? 2 : 1, gates = gates_of(op);
  StepCase c;
  c.op = op;
  c.attributes = {
      {"hidden_size", H}, {"num_layers", layers}, {"bidirectional", bidirectional}, {"batch_first", first}, {"bias", bias}};
  // Differences give no slope at a kink, and draws don't avoid kinks: golden tests cover relu.
  if (op == Op::rnn) c.attributes["relu"] = false;
  c.operands = {{"x", draw.tensor(!batched ? Dims{T, I} : first ? Dims{N, T, I} : Dims{T, N, I})}};
  if (draw.chance(50)) {
    const Dims state = batched ? Dims{layers * D, N, H} : Dims{layers * D, H};
    c.operands.push_back({"h0", draw.tensor(state)});
    if (op == Op::lstm) c.operands.push_back({"c0", draw.tensor(state)});
  }
  for (int64_t layer = 0; layer < layers; ++layer)
    for (int64_t d = 0; d < D; ++d) {
      const std::string suffix = "_l" + std::to_string(layer) + (d ? "_reverse" : "");
      c.operands.push_back({"weight_ih" + suffix, draw.tensor({gates * H, layer ? D * H : I}, 0.5)});
      c.operands.push_back({"weight_hh" + suffix, draw.tensor({gates * H, H}, 0.5)});
      if (!bias) continue;
      c.operands.push_back({"bias_ih" + suffix, draw.tensor({gates * H}, 0.5)});
      c.operands.push_back({"bias_hh" + suffix, draw.tensor({gates * H}, 0.5)});
    }
  return c;
}

/// Σ dy · y + Σ dh · h + Σ dc · c over the gradients that are given.
double loss(const StepCase& c, const RecurrentValues& values, const std::vector<Tensor>& gradients) {
  const auto results = reference_recurrent(c, values);
  double sum = 0;
  for (size_t k = 0; k < results.size(); ++k)
    for (size_t i = 0; i < gradients[k].data.size(); ++i) sum += results[k][i] * gradients[k].data[i];
  return sum;
}

Tensor differences(const StepCase& c, const std::string& role, const Dims& dims, const std::vector<Tensor>& gradients) {
  constexpr double step = 1e-5;
  RecurrentValues values = recurrent_values(c);
  Tensor result(dims);
  for (int64_t i = 0; i < result.size(); ++i) {
    double& value = values[role][size_t(i)];
    const double before = value;
    value = before + step;
    const double above = loss(c, values, gradients);
    value = before - step;
    result.data[size_t(i)] = float((above - loss(c, values, gradients)) / (2 * step));
    value = before;
  }
  return result;
}

/// Compares each element of a gradient with differences.
void compare_elements(const StepCase& c, const Operand& operand, const std::vector<Tensor>& gradients, const Tensor& actual,
                      Draw&) {
  const Tensor expected = differences(c, operand.role, operand.value.dims, gradients);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.data.size(); ++k)
    ASSERT_NEAR(actual.data[k], expected.data[k], 2e-5 + 2e-5 * std::abs(expected.data[k])) << "at " << k;
}

/// Compares a gradient along one direction, for steps too large for more.
void compare_along(const StepCase& c, const Operand& operand, const std::vector<Tensor>& gradients, const Tensor& actual,
                   Draw& draw) {
  constexpr double step = 1e-6;
  const Tensor direction = draw.tensor(operand.value.dims);
  ASSERT_EQ(actual.size(), direction.size());
  RecurrentValues above = recurrent_values(c), below = above;
  double slope = 0, size = 0;
  for (size_t i = 0; i < direction.data.size(); ++i) {
    above[operand.role][i] += step * direction.data[i];
    below[operand.role][i] -= step * direction.data[i];
    slope += double(actual.data[i]) * direction.data[i];
    size += std::abs(double(actual.data[i]) * direction.data[i]);
  }
  EXPECT_GT(size, 1e-3) << "a gradient of nothing";
  EXPECT_NEAR((loss(c, above, gradients) - loss(c, below, gradients)) / (2 * step), slope, 2e-6 * size + 1e-5);
}

template <typename Compare>
void check(const StepCase& c, Draw& draw, Compare compare) {
  SCOPED_TRACE(describe(c));
  const std::vector<Tensor> expected = reference_recurrent(c);
  TrainingStep forward;
  forward.op = *traits(c.op).training;
  forward.attributes = c.attributes;
  forward.threads = draw.threads();
  for (const Operand& operand : c.operands) forward.operands.emplace_back(operand.role, store(operand.value));
  for (const Tensor& tensor : expected) forward.outputs.push_back(tensor.dims);
  forward.outputs.push_back({1});
  forward.workspace = int(expected.size());
  auto made = run_training(forward);
  ASSERT_TRUE(bool(made)) << to_string(made.error());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_LT(relative_error(plain(made->outputs[i]), expected[i]), 1e-5) << "output " << i;

  TrainingStep back = forward;
  back.op = c.op == Op::lstm ? Op::lstm_backward : c.op == Op::gru ? Op::gru_backward : Op::rnn_backward;
  back.workspace = -1;
  const char* results[] = {"y", "h", "c"};
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < expected.size(); ++i) back.operands.emplace_back(results[i], made->outputs[i]);
  back.operands.emplace_back("workspace", made->outputs.back());
  const auto only = size_t(draw.number(0, int64_t(expected.size()) - 1));
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool given = i == only || draw.chance(60);
    gradients.push_back(given ? draw.tensor(expected[i].dims) : Tensor(Dims{0}));
    if (given) back.operands.emplace_back(std::string("d") + results[i], store(gradients[i]));
  }
  // What the outputs are the gradients of.
  std::vector<const Operand*> wanted = {&c.operands[0]};
  for (const Operand& operand : c.operands)
    if (operand.role == "h0" || operand.role == "c0") wanted.push_back(&operand);
  for (const Operand& operand : c.operands)
    if (operand.role.size() > 2) wanted.push_back(&operand);
  back.outputs.clear();
  for (const Operand* operand : wanted) back.outputs.push_back(operand->value.dims);
  auto run = run_training(back);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  for (size_t i = 0; i < wanted.size(); ++i) {
    SCOPED_TRACE("gradient of " + wanted[i]->role + " by " + run->implementation);
    compare(c, *wanted[i], gradients, plain(run->outputs[i]), draw);
  }
}

class RandomRecurrentTraining : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomRecurrentTraining, lstm_gradients_agree_with_differences) {
  Draw draw(GetParam());
  for (int i = 0; i < 8; ++i) check(draw_step(draw, Op::lstm, 1, 5), draw, compare_elements);
}

TEST_P(RandomRecurrentTraining, gru_gradients_agree_with_differences) {
  Draw draw(GetParam());
  for (int i = 0; i < 8; ++i) check(draw_step(draw, Op::gru, 1, 5), draw, compare_elements);
}

TEST_P(RandomRecurrentTraining, rnn_gradients_agree_with_differences) {
  Draw draw(GetParam());
  for (int i = 0; i < 8; ++i) check(draw_step(draw, Op::rnn, 1, 5), draw, compare_elements);
}

TEST_P(RandomRecurrentTraining, large_gradients_agree_with_differences) {
  Draw draw(GetParam());
  for (const Op op : {Op::lstm, Op::gru, Op::rnn}) check(draw_step(draw, op, 16, 48), draw, compare_along);
}

INSTANTIATE_TEST_SUITE_P(seeds, RandomRecurrentTraining, testing::Values(1u, 2u, 3u));

TEST(RecurrentTraining, gradients_of_an_empty_sequence_pass_to_the_states) {
  const Dims state = {1, 2, 3};
  Draw draw(1);
  TrainingStep step;
  step.op = Op::lstm_train;
  step.attributes = {{"hidden_size", 3}, {"bias", false}};
  const Tensor h0 = draw.tensor(state), dc = draw.tensor(state);
  step.operands = {{"x", store(Tensor({0, 2, 4}))},
                   {"h0", store(h0)},
                   {"c0", store(h0)},
                   {"weight_ih_l0", store(Tensor({12, 4}))},
                   {"weight_hh_l0", store(Tensor({12, 3}))}};
  step.outputs = {{0, 2, 3}, state, state, {1}};
  step.workspace = 3;
  auto made = run_training(step);
  ASSERT_TRUE(bool(made)) << to_string(made.error());
  EXPECT_EQ(plain(made->outputs[1]).data, h0.data);
  step.op = Op::lstm_backward;
  step.workspace = -1;
  const char* roles[] = {"y", "h", "c", "workspace"};
  for (size_t i = 0; i < 4; ++i) step.operands.emplace_back(roles[i], made->outputs[i]);
  step.operands.emplace_back("dc", store(dc));
  step.outputs = {{0, 2, 4}, state, state, {12, 4}, {12, 3}};
  auto run = run_training(step);
  ASSERT_TRUE(bool(run)) << to_string(run.error());
  EXPECT_EQ(plain(run->outputs[1]).data, Tensor(state).data);
  EXPECT_EQ(plain(run->outputs[2]).data, dc.data);
  EXPECT_EQ(plain(run->outputs[3]).data, Tensor({12, 4}).data);
}

}  // namespace
}  // namespace sheaf::test
