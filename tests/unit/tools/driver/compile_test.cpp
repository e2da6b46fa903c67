// The compiler as a function: the contents of its plans, and errors that name the model's line.
#include "runtime/plan/op_list.h"
#include "tests/paths/source_folder.h"
#include "tools/driver/compile.h"
#include "runtime/check/check.h"
#include "runtime/check/reader.h"
#include "runtime/plan/serialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

namespace sheaf {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string model_text(const std::string& inputs, const std::string& layers) {
  return "{\"sheaf\": \"1.0\", \"name\": \"m\", \"inputs\": " + inputs + ",\n \"layers\": [\n" + layers + "\n]}";
}

Result<Plan> compiled_text(const std::string& text, const CompileOptions& options = {}) {
  auto model = frontend::parse_model("m.json", text);
  if (!model) return model.error();
  return compile(*model, options);
}

std::vector<std::string> ops(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.push_back(op_name(step));
  return names;
}

TEST(Compile, EveryModelGivesAPlanThatChecksAndReadsBack) {
  int models = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_file("models"))) {
    if (entry.path().extension() != ".json") continue;
    ++models;
    auto model = frontend::load_model(entry.path());
    ASSERT_TRUE(model) << to_string(model.error());
    auto plan = compile(*model);
    ASSERT_TRUE(plan) << to_string(plan.error());
    auto checked = check(*plan);
    EXPECT_TRUE(checked) << entry.path() << to_string(checked.error());
    auto read = parse_plan("m.plan", serialize(*plan));
    ASSERT_TRUE(read) << entry.path() << to_string(read.error());
    EXPECT_EQ(serialize(*read), serialize(*plan));
    EXPECT_EQ(plan->training.is_null(), !model->training.has_value());
  }
  EXPECT_GE(models, 11);
}

class Kept : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* cache = std::getenv("SHEAF_CACHE")) before_ = cache;
    model_ = std::make_unique<frontend::Model>(*frontend::load_model(source_file("models/digits_cnn.json")));
  }
  void TearDown() override {
    if (before_) ::setenv("SHEAF_CACHE", before_->c_str(), 1);
    else ::unsetenv("SHEAF_CACHE");
    std::filesystem::remove_all(root_);
  }
  std::string folder(const std::string& name) const { return root_ + "/" + name; }
  /// The text of the plan, compiled with what `cache` keeps.
  std::string plan_with(const std::string& cache) {
    ::setenv("SHEAF_CACHE", folder(cache).c_str(), 1);
    auto plan = compile(*model_);
    EXPECT_TRUE(plan);
    return plan ? serialize(*plan) : "";
  }

 private:
  std::optional<std::string> before_;
  std::string root_ = ::testing::TempDir() + "compile-kept-" + std::to_string(::getpid());
  std::unique_ptr<frontend::Model> model_;
};

TEST_F(Kept, ThePlanIsTheSameWithAndWithoutWhatIsKept) {
  const std::string first = plan_with("a");
  EXPECT_EQ(plan_with("b"), first);
  EXPECT_EQ(plan_with("a"), first) << "all of it kept";
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder("a") + "/kernels")) files.push_back(file.path());
  ASSERT_EQ(files.size(), 3u) << "x86-64-v3, v4, PTX";
  for (const auto& file : files) std::ofstream(file, std::ios::binary | std::ios::app) << "damage";
  EXPECT_EQ(plan_with("a"), first) << "damaged";
  std::ofstream(folder("a file")) << "text";
  EXPECT_EQ(plan_with("a file"), first) << "no folder";
}

TEST(Compile, AProgramAloneIsThatOfTheWholePlan) {
  auto model = frontend::load_model(source_file("models/digits_cnn.json"));
  ASSERT_TRUE(model);
  CompileOptions options;
  options.objects = false;
  auto whole = compile(*model, options);
  ASSERT_TRUE(whole);
  for (const char* name : {"infer", "train", "accumulate", "update"}) {
    options.only = name;
    auto plan = compile(*model, options);
    ASSERT_TRUE(plan) << to_string(plan.error());
    const bool infers = options.only == "infer", trains = options.only == "train";
    EXPECT_EQ(plan->ir, infers ? whole->ir : "") << name;
    EXPECT_EQ(plan->train_ir, trains ? whole->train_ir : "") << name;
    EXPECT_EQ(plan->accumulate_ir, infers || trains ? "" : whole->accumulate_ir) << name;
    EXPECT_EQ(ops(plan->train), trains ? ops(whole->train) : std::vector<std::string>()) << name;
    EXPECT_EQ(plan->parameters.size(), whole->parameters.size()) << name;
    EXPECT_EQ(plan->regions.size(), whole->regions.size()) << name;
  }
}

TEST(Compile, AShapeErrorNamesLayerLineAndWhatWasExpected) {
  auto plan = compiled_text(model_text(R"({"x": {"shape": ["batch", 5]}})",
                                       R"(  {"name": "fc", "type": "Linear", "in_features": 4, "out_features": 2})"));
  ASSERT_FALSE(plan);
  const Diagnostic& diagnostic = plan.error().diagnostics.front();
  EXPECT_EQ(plan.error().diagnostics.size(), 1u);
  EXPECT_EQ(diagnostic.location.file, "m.json");
  EXPECT_EQ(diagnostic.location.line, 3);
  EXPECT_THAT(diagnostic.message, HasSubstr("layer 'fc' expects 4 input features, but the input is [batch, 5]"));
  EXPECT_THAT(diagnostic.source_line, HasSubstr("in_features"));
}

TEST(Compile, ChunksOfAnotherTotalDoNotAdd) {
  // Two replicas' chunks of x are not the chunks of twice x.
  auto plan = compiled_text(model_text(R"({"x": {"shape": ["batch", 4]}})", R"(
    {"name": "double", "type": "Concat", "dim": 0, "inputs": ["x", "x"]},
    {"name": "sum", "type": "Add", "inputs": ["x", "double"]})"));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message(), HasSubstr("[batch, 4] and [2*batch, 4]"));
}

TEST(Compile, AnEmbeddingThatDoesNotFitGoesToTheHost) {
  std::string text = model_text(R"({"x": {"shape": ["batch"], "dtype": "int64"}})", R"(
    {"name": "table", "type": "Embedding", "num_embeddings": 1000, "embedding_dim": 16},
    {"name": "fc", "type": "Linear", "in_features": 16, "out_features": 2})");
  auto small = compiled_text(text, {.device_memory = 1000});
  auto large = compiled_text(text, {.device_memory = 1000000});
  ASSERT_TRUE(small && large);
  auto step_of = [](const Plan& plan, const std::string& name) {
    for (const Step& step : plan.infer_graph.steps)
      if (op_name(step) == name) return step;
    return Step();
  };
  EXPECT_EQ(step_of(*small, "embedding").place, (Place{Place::host, 0}));
  EXPECT_THAT(step_of(*small, "embedding").reason, HasSubstr("64000 bytes"));
  EXPECT_EQ(step_of(*small, "linear").place, (Place{Place::device, 0}));
  EXPECT_EQ(step_of(*large, "embedding").place, (Place{Place::device, 0}));
  EXPECT_EQ(step_of(*large, "transfer").op, Op::transfer);  // of x alone
}

TEST(Compile, AConvolutionTakesInItsNormSumAndActivation) {
  auto plan = compiled_text(model_text(R"({"x": {"shape": ["batch", 8, 6, 6]}})", R"(
    {"name": "conv", "type": "Conv2d", "in_channels": 8, "out_channels": 8, "kernel_size": 3, "padding": 1},
    {"name": "norm", "type": "BatchNorm2d", "num_features": 8},
    {"name": "sum", "type": "Add", "inputs": ["norm", "x"]},
    {"name": "relu", "type": "ReLU"})"));
  ASSERT_TRUE(plan) << to_string(plan.error());
  int each_run = 0;
  for (const Step& step : plan->infer.steps) {
    if (step.once || step.op == Op::transfer) continue;
    ++each_run;
    EXPECT_EQ(step.op, Op::conv);
    EXPECT_EQ(step.layer, "conv");
    EXPECT_EQ(step.fused, (std::vector<std::string>{"norm", "sum", "relu"}));
    EXPECT_THAT(step.roles, Contains("residual"));
  }
  EXPECT_EQ(each_run, 1);
  EXPECT_THAT(ops(plan->infer_graph), ::testing::IsSupersetOf({"conv2d", "batchnorm2d", "add", "relu"}));
}

TEST(Compile, TiedWeightsAreOneParameterWithTwoNames) {
  auto plan = compiled_text(model_text(R"({"x": {"shape": ["batch"], "dtype": "int64"}})", R"(
    {"name": "encoder", "type": "Embedding", "num_embeddings": 10, "embedding_dim": 4},
    {"name": "decoder", "type": "Linear", "in_features": 4, "out_features": 10, "bias": false,
     "share": {"weight": "encoder.weight"}})"));
  ASSERT_TRUE(plan) << to_string(plan.error());
  ASSERT_EQ(plan->parameters.size(), 1u);
  EXPECT_EQ(plan->parameters[0].name, "encoder.weight");
  EXPECT_EQ(plan->parameters[0].aliases, std::vector<std::string>{"decoder.weight"});
}

}  // namespace
}  // namespace sheaf
