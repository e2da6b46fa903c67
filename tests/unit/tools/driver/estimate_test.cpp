// Estimates of compiled models: right to the byte, and complete.
#include "tests/unit/tools/driver/compiled_model.h"
#include "runtime/bind/binding.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/estimate.h"
#include "sheaf/model.h"
#include "sheaf/trainer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace sheaf {
namespace {

std::vector<std::string> names_of(const std::string& list) {
  const auto devices = parse_devices(list);
  std::vector<std::string> names;
  for (const DeviceSpec& device : *devices) names.push_back(to_string(device));
  return names;
}

Estimate estimated(const Plan& plan, const Program& program, const std::string& list, int64_t batch) {
  auto devices = open_devices(*parse_devices(list));
  auto made = estimate(plan, program, names_of(list), *devices, batch);
  if (!made) ADD_FAILURE() << to_string(made.error());
  return made ? std::move(*made) : Estimate{};
}

size_t of(const MemoryByPurpose& bytes, Value::Purpose kind) { return bytes[static_cast<size_t>(kind)]; }

class EstimateOf : public ::testing::TestWithParam<const char*> {};

TEST_P(EstimateOf, IsWhatRunsTake) {
  const Plan plan = compiled_model(GetParam());
  for (const char* list : {"cpu", "cpu:0,cpu:1", "cpu:0-2"}) {
    for (const bool trains : {false, true}) {
      if (trains && plan.train.steps.empty()) continue;
      SCOPED_TRACE(std::string(list) + (trains ? " train" : " infer"));
      auto model = Model::from_plan(plan);  // derived data belong to a model: a new one each time
      ASSERT_TRUE(model && model->initialise_parameters(0));
      const Estimate estimate = estimated(plan, trains ? plan.train : plan.infer, list, 6);
      BindingInfo info;
      if (trains) {
        auto trainer = Trainer::bind(*model, list, 6);
        ASSERT_TRUE(trainer) << to_string(trainer.error());
        info = trainer->binding().info();
      } else {
        auto session = model->bind(list, 6);
        ASSERT_TRUE(session) << to_string(session.error());
        info = session->binding().info();
      }
      ASSERT_EQ(estimate.devices.size(), info.lanes.size());
      for (size_t i = 0; i < info.lanes.size(); ++i) {
        EXPECT_EQ(estimate.devices[i].arena_bytes, info.lanes[i].arena_bytes) << info.lanes[i].name;
        EXPECT_EQ(estimate.devices[i].arena_bound, info.lanes[i].arena_bound) << info.lanes[i].name;
      }
      EXPECT_EQ(estimate.parameter_bytes, info.parameter_bytes);
      EXPECT_EQ(estimate.derived_bytes, info.derived_bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EstimateOf,
                         ::testing::Values("data_parallel_model", "distributed_model", "digits_cnn", "transformer_encoder",
                                           "word_language_model"));

std::string text_of(const std::vector<Extent>& shape) {
  std::string text;
  for (const Extent& size : shape) text += (text.empty() ? "" : "x") + to_string(size);
  return text;
}

TEST(EstimateOfATrainingStep, FindsEachParametersGradient) {
  for (const char* name : {"data_parallel_model", "digits_cnn", "transformer_encoder", "word_language_model", "resnet18_w8"}) {
    SCOPED_TRACE(name);
    const Plan plan = compiled_model(name, {.objects = false});
    std::multiset<std::string> gradients;
    for (const Value& value : plan.train.values) {
      if (value.purpose == Value::Purpose::gradients) gradients.insert(text_of(value.shape));
    }
    std::map<std::string, size_t> parameters;
    for (const Value& value : plan.train.values) {
      if (value.role == Value::parameter) ++parameters[text_of(value.shape)];
    }
    for (const auto& [shape, count] : parameters) {
      EXPECT_GE(gradients.count(shape), count) << "of shape " << shape;
    }
    for (const auto& shape : gradients) {
      EXPECT_TRUE(parameters.contains(shape)) << "something else was taken for a gradient: " << shape;
    }
  }
}

TEST(EstimateOfATrainingStep, CountsEveryOperation) {
  const Plan plan = compiled_model("digits_cnn", {.objects = false});  // without machine code: it needs none
  const Estimate infer = estimated(plan, plan.infer, "cpu:0", 10), train = estimated(plan, plan.train, "cpu:0", 10);
  // A weight's gradient and an input's gradient take as much as the layer, except for the first layer's input.
  EXPECT_GT(train.cost.flops, 2.3 * infer.cost.flops);
  EXPECT_LT(train.cost.flops, 3.3 * infer.cost.flops);
  EXPECT_NEAR(estimated(plan, plan.infer, "cpu:0", 20).cost.flops, 2 * infer.cost.flops, 0.01 * infer.cost.flops);
  double layers = 0;
  for (const LayerEstimate& layer : train.layers) layers += layer.cost.flops;
  EXPECT_DOUBLE_EQ(layers, train.cost.flops);
  EXPECT_GT(of(train.devices[0].most, Value::Purpose::gradients), 0u);
  EXPECT_GT(of(train.devices[0].most, Value::Purpose::activations), 0u);
  EXPECT_GT(train.step_seconds, infer.step_seconds);
}

TEST(EstimateOfKernels, IsByTheirDefinition) {
  const auto flops = [](const std::string& layer) {
    auto model = frontend::parse_model(
        "m.json", R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 8]}}, "layers": [)" + layer + "]}");
    auto plan = model ? compile(*model, {.objects = false}) : Result<Plan>(model.error());
    EXPECT_TRUE(plan);
    return plan ? estimated(*plan, plan->infer, "cpu:0", 5).cost.flops : -1;
  };
  EXPECT_EQ(flops(R"({"type": "Scale", "value": 3})"), 40) << "a product for each element";
  EXPECT_EQ(flops(R"({"type": "Softmax", "dim": -1})"), 5 * 40);
  EXPECT_EQ(flops(R"({"type": "LayerNorm", "normalized_shape": [8]})"), 8 * 40);
  EXPECT_EQ(flops(R"({"type": "LayerNorm", "normalized_shape": [8], "elementwise_affine": false})"), 6 * 40);
  EXPECT_EQ(flops(R"({"type": "Mean", "dim": [1]})"), 40 + 5) << "sums, then a product each";
  EXPECT_EQ(flops(R"({"type": "Linear", "in_features": 8, "out_features": 3})"), 15 * (2 * 8 + 1));
  EXPECT_EQ(flops(R"({"type": "Permute", "dims": [1, 0]})"), 0) << "it moves data alone";
}

}  // namespace
}  // namespace sheaf
