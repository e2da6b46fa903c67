// Plans of strategies with wrong collectives: each fault is found, and the faulty layer named.
#include "runtime/plan/op_list.h"
#include "tests/unit/tools/verify/verified.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

Plan replicated(const std::string& model = perceptron(kLayers)) {
  CompileOptions options;
  options.strategy = Strategy::replicated;
  return compiled(model, options);
}

/// The index of the first all_reduce of a training step.
size_t first_sum(const Plan& plan) {
  size_t at = 0;
  while (at < plan.train.steps.size() && plan.train.steps[at].op != Op::all_reduce) ++at;
  EXPECT_LT(at, plan.train.steps.size());
  return at;
}

Value& result_of(Plan& plan, const Step& step) { return plan.train.values[static_cast<size_t>(step.outputs[0])]; }

TEST(VerifyStrategies, ARightPlanHasNoFault) {
  const Plan plan = replicated();
  for (const auto& [devices, batch] :
       {std::pair{"cpu", 7}, {"cpu:0", 7}, {"cpu:0,cpu:1", 7}, {"cpu:0-2", 7}, {"cpu:0-3", 2}, {"cpu:0,cpu:0", 5}})
    EXPECT_TRUE(verified(plan, on(devices, batch)).passed()) << devices << explained(verified(plan, on(devices, batch)));
  EXPECT_TRUE(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)).passed());
}

/// Each replica continues with its own gradient.
TEST(VerifyStrategies, ADroppedSum) {
  Plan plan = replicated();
  Step& step = plan.train.steps[first_sum(plan)];
  step.op = Op::transfer;
  step.attributes = Json::object();
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_EQ(found.layer, step.layer);
  EXPECT_EQ(found.op, "transfer");
  EXPECT_EQ(found.replica, 0);
  EXPECT_THAT(found.explanation, HasSubstr("all replicas should have the unpartitioned program's value"));
  // With one replica it makes no difference.
  EXPECT_TRUE(verified(plan, on("cpu:0", 7)).passed());
}

/// A value that is a sum already is added up again: three times the gradient.
TEST(VerifyStrategies, ADoubledSum) {
  Plan plan = replicated();
  const size_t at = first_sum(plan);
  Step again = plan.train.steps[at];
  Value value = result_of(plan, again);
  value.name += " again";
  const int once = again.outputs[0], twice = static_cast<int>(plan.train.values.size());
  for (size_t i = at + 1; i < plan.train.steps.size(); ++i)
    for (int& input : plan.train.steps[i].inputs)
      if (input == once) input = twice;
  plan.train.values.push_back(value);
  again.inputs = {once};
  again.outputs = {twice};
  plan.train.steps.insert(plan.train.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, again);
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_EQ(found.op, "all_reduce");
  EXPECT_EQ(found.layer, again.layer);
  EXPECT_NEAR(found.found, 3 * found.expected, 1e-4);
}

const char* const kTwoAlike = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 5]}},
  "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
    {"name": "a", "type": "Linear", "in_features": 5, "out_features": 5},
    {"name": "b", "type": "Linear", "in_features": 5, "out_features": 5}]}}],
  "training": {"targets": {"y": {"shape": ["batch", 5]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.1}}})";

/// Two parameters get each other's sums: each collective is right by itself, the step isn't.
TEST(VerifyStrategies, MisorderedSums) {
  Plan plan = replicated(kTwoAlike);
  std::vector<Step*> sums;
  for (Step& step : plan.train.steps)
    if (step.op == Op::all_reduce && result_of(plan, step).shape.size() == 2) sums.push_back(&step);
  ASSERT_EQ(sums.size(), 2U);
  std::swap(sums[0]->inputs, sums[1]->inputs);
  const Divergence found = divergence(compared(plan, unpartitioned(kTwoAlike), on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("net.module."));
}

/// A mean over something other than the whole batch: gradients of half the size on every replica, all alike.
TEST(VerifyStrategies, AWrongDivisor) {
  Plan plan = replicated();
  int changed = 0;
  for (Step& step : plan.train.steps) {
    if (!step.inputs.empty() || !step.attributes.contains("extents")) continue;  // the inverse of a number of elements
    for (Json& extent : step.attributes["extents"])
      if (extent == "3*batch") extent = "6*batch", ++changed;
  }
  ASSERT_GT(changed, 0);
  const Divergence found = divergence(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("net.module."));
}

Plan with(Strategy strategy, const std::string& model = perceptron(kLayers)) {
  CompileOptions options;
  options.strategy = strategy;
  return compiled(model, options);
}

class VerifyShares : public ::testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Of, VerifyShares, ::testing::Values(Strategy::sharded, Strategy::fully_sharded),
                         [](const auto& info) { return to_string(info.param); });

/// The first steps of an operation in a training step, in order.
std::vector<Step*> steps_of(Plan& plan, Op op) {
  std::vector<Step*> found;
  for (Step& step : plan.train.steps)
    if (step.op == op) found.push_back(&step);
  EXPECT_FALSE(found.empty());
  return found;
}

/// Two rows leave the third and fourth device without any, but not without shares.
TEST_P(VerifyShares, ARightPlanHasNoFault) {
  const Plan plan = with(GetParam());
  for (const auto& [devices, batch] :
       {std::pair{"cpu", 7}, {"cpu:0", 7}, {"cpu:0,cpu:1", 7}, {"cpu:0-2", 7}, {"cpu:0-3", 2}, {"cpu:0,cpu:0", 5}})
    EXPECT_TRUE(verified(plan, on(devices, batch)).passed()) << devices << explained(verified(plan, on(devices, batch)));
  EXPECT_TRUE(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)).passed());
}

/// Each replica continues with the share of its own gradient.
TEST_P(VerifyShares, ADroppedSum) {
  Plan plan = with(GetParam());
  Step& step = *steps_of(plan, Op::reduce_scatter)[0];
  step.op = Op::shard;
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_EQ(found.layer, step.layer);
  EXPECT_EQ(found.op, "shard");
  EXPECT_THAT(found.explanation, HasSubstr("the replica's share should be elements 0 to "));
}

/// A value that is a sum already is gathered and added up again: three times the gradient.
TEST_P(VerifyShares, ADoubledSum) {
  Plan plan = with(GetParam());
  Step again = *steps_of(plan, Op::reduce_scatter)[0], whole = again;
  whole.op = Op::all_gather;
  const size_t at = static_cast<size_t>(steps_of(plan, Op::reduce_scatter)[0] - plan.train.steps.data());
  const int once = again.outputs[0], gathered = static_cast<int>(plan.train.values.size()), twice = gathered + 1;
  for (Step& step : plan.train.steps) std::replace(step.inputs.begin(), step.inputs.end(), once, twice);
  Value value = result_of(plan, again);
  value.name += " whole";
  value.layout.kind = ValueLayout::replicated;
  plan.train.values.push_back(value);
  value.name += " again";
  value.layout.kind = ValueLayout::sharded;
  plan.train.values.push_back(value);
  whole.inputs = {once};
  whole.outputs = again.inputs = {gathered};
  again.outputs = {twice};
  plan.train.steps.insert(plan.train.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, {whole, again});
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_EQ(found.op, "reduce_scatter");
  EXPECT_NEAR(found.found, 3 * found.expected, 1e-4);
}

/// Two parameters get each other's sums: each collective is right by itself, the step isn't.
TEST_P(VerifyShares, MisorderedSums) {
  Plan plan = with(GetParam(), kTwoAlike);
  std::vector<Step*> sums;
  for (Step* step : steps_of(plan, Op::reduce_scatter))
    if (result_of(plan, *step).shape.size() == 2) sums.push_back(step);
  ASSERT_EQ(sums.size(), 2U);
  // Both come after their operands if they come after the last of them.
  std::swap(sums[0]->outputs, sums[1]->outputs);
  const Divergence found = divergence(compared(plan, unpartitioned(kTwoAlike), on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("net.module."));
}

/// A gather of an updated value returns the old one.
TEST(VerifyStrategies, AStaleGather) {
  Plan plan = with(Strategy::sharded);
  const Step& gather = *steps_of(plan, Op::all_gather)[0];
  const std::vector<Step*> shares = steps_of(plan, Op::shard);
  const auto before = std::find_if(shares.begin(), shares.end(), [&](const Step* share) {
    return result_of(plan, *share).shape == result_of(plan, gather).shape;
  });
  ASSERT_NE(before, shares.end());
  const_cast<Step&>(gather).inputs = (*before)->outputs;
  const Divergence found = divergence(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("net.module."));
}

/// A mean over something other than the whole batch.
TEST_P(VerifyShares, AWrongDivisor) {
  Plan plan = with(GetParam());
  int changed = 0;
  for (Step& step : plan.train.steps) {
    if (!step.inputs.empty() || !step.attributes.contains("extents")) continue;
    for (Json& extent : step.attributes["extents"])
      if (extent == "3*batch") extent = "6*batch", ++changed;
  }
  ASSERT_GT(changed, 0);
  const Divergence found = divergence(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("net.module."));
}

}  // namespace
}  // namespace sheaf
