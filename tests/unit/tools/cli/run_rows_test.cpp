// Rows in batches, and the `run` verb as a function: exit statuses, messages, files left on disk.
#include "tests/fixtures/plan_builder.h"
#include "runtime/plan/op_list.h"

#include "runtime/base/file.h"
#include "runtime/data/safetensors.h"
#include "runtime/session/open_devices.h"
#include "tools/cli/options.h"
#include "runtime/plan/serialize.h"
#include "tools/cli/run_main.h"
#include "tools/cli/run_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

HostTensor tensor(std::vector<int64_t> shape) {
  auto made = make_tensor(DType::float32, std::move(shape));
  EXPECT_TRUE(made);
  std::span<float> values = made->as<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 37 % 101) / 50 - 1;
  return *made;
}

std::vector<HostTensor> rows(const Model& model, const char* list, const std::vector<HostTensor>& inputs, int64_t batch) {
  auto devices = open_devices(*parse_devices(list));
  RowsOptions options;
  options.batch_size = batch;
  options.run.print = [](std::string_view) {};
  auto data = Dataset::make(model.inputs(), inputs);
  EXPECT_TRUE(data);
  auto outputs = run_rows(model, std::make_shared<const DeviceSet>(*devices), *data, options);
  if (!outputs) {
    ADD_FAILURE() << to_string(outputs.error());
    return {};
  }
  return std::move(*outputs);
}

TEST(SessionRows, BatchesDoNotChangeTheResult) {
  auto model = Model::from_plan(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan);
  ASSERT_TRUE(model && model->initialise_parameters(5));
  for (int64_t count : {0, 1, 7, 30}) {
    const std::vector<HostTensor> inputs = {tensor({count, 5})};
    const auto whole = rows(*model, "cpu", inputs, 0);
    ASSERT_EQ(whole[0].shape, (std::vector<int64_t>{count, 2}));
    for (int64_t batch : {1, 2, 7, 8, 30, 1000}) {
      const auto parts = rows(*model, "cpu:0,cpu:1,cpu:0", inputs, batch);
      ASSERT_EQ(parts[0].shape, whole[0].shape);
      for (size_t i = 0; i < whole[0].as<float>().size(); ++i) {
        EXPECT_NEAR(parts[0].as<float>()[i], whole[0].as<float>()[i], 1e-5) << count << " rows in batches of " << batch;
      }
    }
  }
}

TEST(SessionRows, RowsAlongDimensionOneAndTwoPerRow) {
  // x [3, batch] goes through; y [batch, 4] as [2*batch, 2].
  PlanBuilder b;
  const int x = b.input("x", {3, b.batch()}), y = b.input("y", {b.batch(), 4});
  b.output("x_out", b.step(Op::view, {x}, "x_out", {3, b.batch()}, b.host()));
  b.output("y_out", b.step(Op::view, {y}, "y_out", {b.batch(2), 2}, b.host()));
  auto model = Model::from_plan(b.plan);
  ASSERT_TRUE(model);
  const std::vector<HostTensor> inputs = {tensor({3, 7}), tensor({7, 4})};
  for (int64_t batch : {0, 1, 3, 7, 9}) {
    const auto outputs = rows(*model, "cpu", inputs, batch);
    EXPECT_EQ(outputs[0].bytes, inputs[0].bytes) << batch;
    EXPECT_EQ(outputs[1].shape, (std::vector<int64_t>{14, 2}));
    EXPECT_EQ(outputs[1].bytes, inputs[1].bytes) << batch;
  }
}

TEST(SessionRows, InputsThatDifferInRows) {
  PlanBuilder b;
  const int x = b.input("x", {b.batch(), 2});
  b.input("y", {b.batch()});
  b.output("x_out", b.step(Op::view, {x}, "x_out", {b.batch(), 2}, b.host()));
  auto model = Model::from_plan(b.plan);
  auto devices = std::make_shared<const DeviceSet>(*open_devices({}));
  auto data = Dataset::make(model->inputs(), {tensor({3, 2}), tensor({4})});
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message(), HasSubstr("'x' has 3, 'y' has 4"));
  data = Dataset::make(model->inputs(), {tensor({3, 5}), tensor({3})});
  auto outputs = run_rows(*model, devices, *data, {});
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message(), HasSubstr("[3, 5]"));
}

TEST(SessionRows, AnOutputWithoutBatchCannotBeConcatenated) {
  PlanBuilder b;
  b.input("x", {b.batch()});
  const int w = b.parameter("w", {2});
  b.output("w", b.step(Op::view, {w}, "w_out", {2}, b.host()));
  auto model = Model::from_plan(b.plan);
  ASSERT_TRUE(model->initialise_parameters(0));
  EXPECT_EQ(rows(*model, "cpu", {tensor({4})}, 4)[0].shape, std::vector<int64_t>{2});
  RowsOptions options;
  options.batch_size = 2;
  auto data = Dataset::make(model->inputs(), {tensor({4})});
  EXPECT_FALSE(run_rows(*model, std::make_shared<const DeviceSet>(*open_devices({})), *data, options));
}

class RunVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    plan = (folder / "m.plan").string();
    ASSERT_TRUE(write_file_atomically(plan, serialize(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan)));
    out = (folder / "out.safetensors").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  int run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = run_verb(arguments);
    said = ::testing::internal::GetCapturedStdout();
    complained = ::testing::internal::GetCapturedStderr();
    return status;
  }

  std::filesystem::path folder;
  std::string plan, out, said, complained;
};

TEST_F(RunVerb, WritesOutputs) {
  ASSERT_EQ(run({plan, "--devices", "cpu:0,cpu:1", "--input", "x=random:7", "--batch-size=3", "--output", out}), 0)
      << complained;
  EXPECT_EQ(said + complained, "");
  auto file = SafetensorsFile::open(out);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->entries().at("net").shape, (std::vector<int64_t>{7, 2}));
  ASSERT_EQ(run({plan, "--devices", "cpu", "--input", "x=random:7"}), 0) << complained;
  EXPECT_EQ(said.rfind("net float32 [7, 2]: ", 0), 0U) << said;
}

TEST_F(RunVerb, FaultsOfTheCommandLine) {
  const std::vector<std::string> good = {plan, "--devices", "cpu:0", "--input", "x=random:4", "--output", out};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = good;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  EXPECT_EQ(with({"--devcies", "cpu"}), 2);
  EXPECT_THAT(complained, HasSubstr("unknown option '--devcies'; did you mean '--devices'?"));
  EXPECT_EQ(with({"--batch-size", "0"}), 2);
  EXPECT_EQ(with({"--batch-size", "99999999999999999999"}), 2);
  EXPECT_EQ(with({"--seed", "x"}), 2);
  EXPECT_EQ(with({"--numerics", "sloppy"}), 2);
  EXPECT_THAT(complained, HasSubstr("expected one of 'strict', 'fast'"));
  EXPECT_EQ(with({"--devices", "cpu:1"}), 2);
  EXPECT_EQ(with({"--weights"}), 2);
  EXPECT_EQ(with({"another.plan"}), 2);
  EXPECT_EQ(with({"--input", "x=random:-4"}), 2);
  EXPECT_EQ(with({"--input", "random:4"}), 2);
  EXPECT_EQ(run({plan, "--devices", "gpu:0"}), 2);
  EXPECT_EQ(run({plan}), 2);
  EXPECT_EQ(run({}), 2);
  EXPECT_EQ(said, "");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(RunVerb, FaultsOfTheRun) {
  EXPECT_EQ(run({plan, "--devices", "cpu:0", "--input", "z=random:4", "--output", out}), 1);
  EXPECT_THAT(complained, HasSubstr("missing: --input x=SOURCE"));
  EXPECT_THAT(complained, HasSubstr("superfluous: 'z'"));
  EXPECT_EQ(run({plan, "--devices", "cuda:0", "--input", "x=random:4", "--output", out}), 1);
  EXPECT_EQ(run({(folder / "absent").string(), "--devices", "cpu:0", "--input", "x=random:4"}), 1);
  EXPECT_EQ(run({plan, "--devices", "cpu:0", "--input", "x=absent.npy", "--output", out}), 1);
  EXPECT_EQ(run({plan, "--devices", "cpu:0", "--input", "x=random:4", "--weights", plan, "--output", out}), 1);
  EXPECT_THAT(complained, HasSubstr("error: "));
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(RunVerb, HelpAndDevices) {
  ASSERT_EQ(run({"--help"}), 0);
  for (const char* word : {"PLAN", "--devices LIST", "--numerics", "strict, fast (default strict)"})
    EXPECT_THAT(said, HasSubstr(word));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(devices_verb(std::vector<std::string>{"--json"}), 0);
  const Json json = Json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_GE(json["cpu"]["cores"].get<int>(), 1);
}

}  // namespace
}  // namespace sheaf
