// Correct plans pass: every small model, on uneven chunks.
#include "tests/paths/source_folder.h"
#include "tests/unit/tools/verify/verified.h"

namespace sheaf {
namespace {

struct Case {
  const char* model;
  const char* devices;
  int64_t batch;
};

class VerifyModels : public ::testing::TestWithParam<Case> {};

TEST_P(VerifyModels, Passes) {
  auto model = frontend::load_model(source_file("models/") + GetParam().model + ".json");
  ASSERT_TRUE(model);
  auto plan = compile(*model);
  ASSERT_TRUE(plan) << to_string(plan.error());
  VerifyOptions options = on(GetParam().devices, GetParam().batch);
  options.steps = 1;
  const Verification found = verified(*plan, options);
  EXPECT_TRUE(found.passed()) << explained(found);
  for (const ProgramVerification& program : found.programs) {
    EXPECT_GT(program.values.size(), 0U);
    if (program.program == "train") EXPECT_GT(program.gradients.size(), 0U);
    for (const ValueDifference& gradient : program.gradients) EXPECT_GT(gradient.compared, 0) << gradient.name;
  }
  CompileOptions apart;
  apart.unpartitioned = apart.unfused = true;
  auto reference = compile(*model, apart);
  ASSERT_TRUE(reference) << to_string(reference.error());
  const Verification alike = compared(*plan, *reference, options, {true, true});
  EXPECT_TRUE(alike.passed()) << explained(alike);
}

INSTANTIATE_TEST_SUITE_P(Small, VerifyModels,
                         ::testing::Values(Case{"tutorial", "cpu:0-2", 7}, Case{"data_parallel_model", "cpu:0-2", 7},
                                           Case{"distributed_model", "cpu:0-1", 7}, Case{"rl_policy", "cpu:0-2", 7},
                                           Case{"digits_cnn", "cpu:0-2", 7}, Case{"transformer_encoder", "cpu:0-1", 3},
                                           Case{"resnet18_w8", "cpu:0-2", 7}),
                         [](const auto& info) { return std::string(info.param.model); });

std::string recurrent(const std::string& type) {
  return R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": [6, "batch", 5]}}, "layers": [
    {"name": "net", "type": "DataParallel", "dim": 1, "module": {"type": "Sequential", "layers": [
      {"name": "rnn", "type": ")" +
         type +
         R"(", "input_size": 5, "hidden_size": 8}, {"name": "fc", "type": "Linear", "in_features": 8, "out_features": 3}]}}],
    "training": {"targets": {"y": {"shape": [6, "batch", 3]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]}, "optimizer": {"type": "Adam", "lr": 0.01}}})";
}

/// Rows lie along dimension 1; a library's workspace goes from the forward to the backward pass.
TEST(VerifyLayers, RecurrentOnes) {
  for (const char* type : {"LSTM", "GRU", "RNN"}) {
    const Plan plan = compiled(recurrent(type));
    const Verification found = verified(plan, on("cpu:0-2", 7));
    EXPECT_TRUE(found.passed()) << type << explained(found);
    const Verification alike = compared(plan, unpartitioned(recurrent(type)), on("cpu:0-2", 7));
    EXPECT_TRUE(alike.passed()) << type << explained(alike);
  }
}

/// On several devices some operations come earlier or later on a lane than in the program. Memory is planned for that order,
/// and a run of one operation after another keeps to it.
TEST(VerifyLayers, OneRecurrentLayerBehindAnother) {
  const std::string text = R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 3, 4]}}, "layers": [
    {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
      {"type": "LSTM", "input_size": 4, "hidden_size": 4, "batch_first": true},
      {"type": "GRU", "input_size": 4, "hidden_size": 6, "batch_first": true}]}}],
    "training": {"targets": {"y": {"shape": ["batch", 3, 6]}}, "loss": {"type": "MSELoss"}, "optimizer": {"type": "SGD", "lr": 0.1}}})";
  const Plan plan = compiled(text);
  const Verification found = verified(plan, on("cpu:0,cpu:1", 7));
  EXPECT_TRUE(found.passed()) << explained(found);
  EXPECT_TRUE(compared(plan, unpartitioned(text), on("cpu:0,cpu:1", 7)).passed());
}

/// Each replica has its own statistics: the model on one device computes something else, and yet nothing is at fault.
TEST(VerifyLayers, BatchStatistics) {
  const std::string text = perceptron(R"({"name": "fc", "type": "Linear", "in_features": 5, "out_features": 3},
    {"name": "norm", "type": "BatchNorm1d", "num_features": 3}, {"name": "act", "type": "ReLU"})");
  const Plan plan = compiled(text);
  const Verification found = verified(plan, on("cpu:0,cpu:1", 7));
  EXPECT_TRUE(found.passed()) << explained(found);
  EXPECT_TRUE(compared(plan, unpartitioned(text), on("cpu:0,cpu:1", 7), {false, true}).passed());
  EXPECT_FALSE(compared(plan, unpartitioned(text), on("cpu:0,cpu:1", 7), {false, false}).passed());
}

/// From a channel of equal numbers only the rounding of their mean remains, which is that of the whole sum, always in the same
/// direction.
TEST(VerifyLayers, StatisticsOfNumbersThatAreAllAlike) {
  const Plan plan = compiled(R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": ["batch", 2, 16, 16]}}, "layers": [
    {"name": "zero", "type": "Sub", "inputs": ["x", "x"]},
    {"name": "net", "type": "DataParallel", "module": {"type": "Sequential", "layers": [
      {"name": "conv", "type": "Conv2d", "in_channels": 2, "out_channels": 64, "kernel_size": 1}, {"name": "norm", "type": "BatchNorm2d", "num_features": 64},
      {"name": "pool", "type": "AvgPool2d", "kernel_size": 16}, {"name": "flat", "type": "Flatten"}]}}],
    "training": {"targets": {"y": {"shape": ["batch", 64]}}, "loss": {"type": "MSELoss", "inputs": ["net", "y"]}, "optimizer": {"type": "SGD", "lr": 0.1}}})");
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    auto model = Model::from_plan(plan);
    ASSERT_TRUE(model && model->initialise_parameters(seed));
    auto weights = weights_of(*model);
    auto data = data_for(plan, 30, seed);
    ASSERT_TRUE(weights && data);
    auto found = verify(plan, *weights, *data, on("cpu:0,cpu:1", 30));
    ASSERT_TRUE(found) << to_string(found.error());
    EXPECT_TRUE(found->passed()) << "seed " << seed << explained(*found);
  }
}

}  // namespace
}  // namespace sheaf
