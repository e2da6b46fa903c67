// Plans that are right pass: every model that is small, on uneven chunks.
#include "tests/unit/verify/verified.h"

namespace sheaf {
namespace {

struct Case {
  const char* model;
  const char* devices;
  int64_t batch;
};

class VerifyModels : public ::testing::TestWithParam<Case> {};

TEST_P(VerifyModels, Passes) {
  auto model = frontend::load_model(std::string(SHEAF_SOURCE_DIR "/models/") + GetParam().model + ".json");
  ASSERT_TRUE(model);
  std::vector<Diagnostic> warnings;
  auto plan = compile(*model, {}, &warnings);
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
                                           Case{"digits_cnn", "cpu:0-2", 7}, Case{"word_language_model", "cpu:0-1", 3},
                                           Case{"transformer_encoder", "cpu:0-1", 3}, Case{"resnet18_w8", "cpu:0-2", 7}),
                         [](const auto& info) { return std::string(info.param.model); });

}  // namespace
}  // namespace sheaf
