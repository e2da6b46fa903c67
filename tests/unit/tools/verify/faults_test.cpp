// Plans that are compiled wrongly: each fault is found, and the faulty layer named.
#include "runtime/plan/op_list.h"
#include "tests/unit/tools/verify/verified.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

TEST(VerifyFaults, ARightPlanHasNone) {
  const Plan plan = compiled(perceptron(kLayers));
  for (const auto& [devices, batch] :
       {std::pair{"cpu", 7}, {"cpu:0", 7}, {"cpu:0,cpu:1", 7}, {"cpu:0-2", 7}, {"cpu:0-3", 2}, {"cpu:0,cpu:0", 5}})
    EXPECT_TRUE(verified(plan, on(devices, batch)).passed()) << devices << explained(verified(plan, on(devices, batch)));
  EXPECT_TRUE(compared(plan, unpartitioned(perceptron(kLayers)), on("cpu:0-2", 7)).passed());
}

TEST(VerifyFaults, AMissingReduce) {
  Plan plan = compiled(perceptron(kLayers));
  std::string layer;
  for (Step& step : plan.train.steps) {
    if (step.op != Op::reduce || !layer.empty()) continue;
    layer = step.layer;
    step.op = Op::first;  // only replica 0's gradient
  }
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_EQ(found.check, "operation");
  EXPECT_EQ(found.layer, layer);
  EXPECT_EQ(found.op, "first");
  EXPECT_EQ(found.replica, -1);
  EXPECT_NE(found.expected, found.found);
  // With one replica it makes no difference.
  EXPECT_TRUE(verified(plan, on("cpu:0", 7)).passed());
}

/// Each replica uses the first rows as its own.
TEST(VerifyFaults, AWrongChunk) {
  const std::string text = perceptron(R"({"name": "fc1", "type": "Linear", "in_features": 5, "out_features": 3},
                                         {"name": "drop", "type": "Dropout", "p": 0.5})");
  Plan plan = compiled(text);
  ASSERT_TRUE(verified(plan, on("cpu:0-2", 7)).passed()) << explained(verified(plan, on("cpu:0-2", 7)));
  int changed = 0;
  for (Step& step : plan.train.steps) {
    if (!step.attributes.contains("extents")) continue;
    for (Json& extent : step.attributes["extents"]) {
      if (extent == "first0") extent = "0", ++changed;
    }
  }
  ASSERT_GT(changed, 0);
  const Divergence found = divergence(verified(plan, on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("drop"));
  EXPECT_EQ(found.replica, 1);
  EXPECT_EQ(found.device, "cpu:1");
  ASSERT_EQ(found.index.size(), 2U);
  EXPECT_GE(found.index[0], 3) << "rows count in the whole";
  EXPECT_LT(found.index[0], 6);
  EXPECT_THAT(found.explanation, HasSubstr("chunk"));
}

const char* const kTwoOutputs = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 5]}},
  "modules": {"Pair": {"inputs": ["a"], "outputs": ["p", "q"],
              "layers": [{"name": "p", "type": "Linear", "inputs": ["a"], "in_features": 5, "out_features": 4},
                         {"name": "q", "type": "Linear", "inputs": ["a"], "in_features": 5, "out_features": 4}]}},
  "layers": [{"name": "net", "type": "DataParallel", "module": {"type": "Pair"}}], "outputs": ["net", "net:1"]})";

/// Two gathers, each of the other's value. On the plan's own terms that is consistent; the model says otherwise.
TEST(VerifyFaults, SwappedGathers) {
  Plan plan = compiled(kTwoOutputs);
  ASSERT_TRUE(compared(plan, unpartitioned(kTwoOutputs), on("cpu:0-2", 7)).passed());
  std::vector<Step*> gathers;
  for (Step& step : plan.infer.steps)
    if (step.op == Op::gather) gathers.push_back(&step);
  ASSERT_EQ(gathers.size(), 2U);
  std::swap(gathers[0]->inputs, gathers[1]->inputs);
  const Divergence found = divergence(compared(plan, unpartitioned(kTwoOutputs), on("cpu:0-2", 7)));
  EXPECT_EQ(found.check, "model");
  EXPECT_THAT(found.layer, HasSubstr("net"));
}

/// A replica computes with the other weights.
TEST(VerifyFaults, AReplicateOfTheWrongWeights) {
  Plan plan = compiled(kTwoOutputs);
  std::vector<Step*> replicates;
  for (Step& step : plan.infer.steps)
    if (step.op == Op::replicate && plan.infer.values[static_cast<size_t>(step.inputs[0])].shape.size() == 2)
      replicates.push_back(&step);
  ASSERT_EQ(replicates.size(), 2U);
  std::swap(replicates[0]->inputs, replicates[1]->inputs);
  EXPECT_THAT(divergence(compared(plan, unpartitioned(kTwoOutputs), on("cpu:0,cpu:1", 7))).layer, HasSubstr("net"));
}

std::string mean_of_rows(const std::string& inside, const std::string& outside) {
  return R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 5]}}, "layers": [
    {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
       {"name": "fc", "type": "Linear", "in_features": 5, "out_features": 3})" +
         inside + R"(]}},
    )" + outside +
         R"({"name": "mean", "type": "Mean", "dim": [0], "keepdim": true}]})";
}

/// Replicas' means of chunks of 3, 3 and 1 rows, and the mean of those.
TEST(VerifyFaults, AMeanOfMeans) {
  const std::string right = mean_of_rows("", "");
  const Plan wrong = compiled(mean_of_rows(R"(, {"name": "part", "type": "Mean", "dim": [0], "keepdim": true})", ""));
  ASSERT_TRUE(compared(compiled(right), unpartitioned(right), on("cpu:0-2", 7)).passed());
  const Divergence found = divergence(compared(wrong, unpartitioned(right), on("cpu:0-2", 7)));
  EXPECT_EQ(found.layer, "mean");
  // Equal chunks have equal weight.
  EXPECT_TRUE(compared(wrong, unpartitioned(right), on("cpu:0-2", 6)).passed());
}

/// The same in the backward pass: replicas' gradients averaged, not added. Their sum is no longer the gradient.
TEST(VerifyFaults, GradientsThatAreAveraged) {
  Plan plan = compiled(perceptron(kLayers));
  for (Step& step : plan.train.steps) {
    if (step.op != Op::scatter || step.reason.find("dual of the gather") == std::string::npos) continue;
    step.op = Op::replicate;  // each replica gets the gradient of all rows …
  }
  // … which doesn't fit its chunk: such a plan is refused, not compared.
  auto data = data_for(plan, 7, 1);
  ASSERT_TRUE(data);
  EXPECT_FALSE(verify(plan, initial_weights(plan), *data, on("cpu:0-2", 7)));
}

TEST(VerifyFaults, AnUpdateThatIsForgotten) {
  const Plan reference = unpartitioned(perceptron(kLayers));
  Plan plan = compiled(perceptron(kLayers));
  std::erase_if(plan.train.updates, [](const Update& update) { return update.name.ends_with("fc2.weight"); });
  const Divergence found = divergence(compared(plan, reference, on("cpu:0-2", 7)));
  EXPECT_THAT(found.layer, HasSubstr("fc2.weight"));
}

}  // namespace
}  // namespace sheaf
