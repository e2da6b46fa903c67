// Sessions on tensors whose sizes are checked, and other parts of the C++ interface: plans and device lists as values, weights by name.
#include "tests/fixtures/session_run.h"

#include "sheaf/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model linear() { return load(data_parallel_linear(5, 2, PlanBuilder::device(0))); }

TEST(GivenTensors, AShortBufferIsAnError) {
  const Model model = linear();
  const std::string in = model.inputs()[0].name, out = model.outputs()[0].name;
  auto session = model.bind("cpu:0,cpu:1", 7);
  ASSERT_TRUE(session);
  const std::vector<float> x = numbers(35);
  std::vector<float> y(14), fast(14);
  const auto run = [&](TensorView input, MutableTensorView output) {
    return session->run(std::span(&input, 1), std::span(&output, 1));
  };
  const auto refuse = [&](TensorView input, MutableTensorView output, const std::string& reason) {
    auto done = run(input, output);
    ASSERT_FALSE(done) << reason;
    EXPECT_THAT(done.error().message(), HasSubstr(reason));
  };
  const TensorView input{in, DType::float32, {7, 5}, x.data()};
  const MutableTensorView output{out, DType::float32, {7, 2}, y.data()};
  ASSERT_TRUE(run(input, output));
  const void* inputs[] = {x.data()};
  void* outputs[] = {fast.data()};
  ASSERT_TRUE(session->run(inputs, outputs));
  EXPECT_EQ(y, fast);
  EXPECT_TRUE(run({"", DType::float32, {7, 5}, x.data()}, {"", DType::float32, {7, 2}, y.data()})) << "in order";
  refuse({in, DType::float32, {7, 4}, x.data()}, output, "input '" + in + "' is float32 [7, 4]; expected float32 [7, 5]");
  refuse({in, DType::float32, {8, 5}, x.data()}, output, "a batch of 8 rows; this session is bound to batches of 7 rows");
  refuse({in, DType::float32, {6, 5}, x.data()}, output, "output '" + out + "' is float32 [7, 2]; expected float32 [6, 2]");
  refuse(input, {out, DType::float32, {7, 1}, y.data()}, "output '" + out + "' is float32 [7, 1]; expected float32 [7, 2]");
  refuse({in, DType::int64, {7, 5}, x.data()}, output, "is int64 [7, 5]");
  refuse({in, DType::float32, {7, 5}, nullptr}, output, "has no address");
  refuse({"z", DType::float32, {7, 5}, x.data()}, output, "there is no input 'z'");
  EXPECT_FALSE(session->run(std::span<const TensorView>(), std::span(&output, 1)));
}

TEST(GivenTensors, ASmallerBatchIsRunToo) {
  const Model model = linear();
  auto session = model.bind("cpu:0,cpu:1", 7);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->batch(), 7);
  const std::vector<float> x = numbers(35);
  std::vector<float> whole(14);
  const auto run = [&](int64_t rows, float* to) {
    const TensorView input{"", DType::float32, {rows, 5}, x.data()};
    const MutableTensorView output{"", DType::float32, {rows, 2}, to};
    EXPECT_EQ((*session->output_shapes(std::span(&input, 1)))[0], output.shape);
    return session->run(std::span(&input, 1), std::span(&output, 1));
  };
  ASSERT_TRUE(run(7, whole.data()));
  for (int64_t rows = 0; rows < 7; ++rows) {
    std::vector<float> part(static_cast<size_t>(rows) * 2);
    ASSERT_TRUE(run(rows, part.data())) << rows;
    for (size_t i = 0; i < part.size(); ++i) EXPECT_NEAR(part[i], whole[i], 1e-6) << rows;
  }
  EXPECT_EQ(session->output_shape(0), (std::vector<int64_t>{7, 2})) << "of the whole batch";
  EXPECT_FALSE(session->prepare(8));
  EXPECT_FALSE(session->prepare(-1));
}

TEST(GivenTensors, NoRowsNeedNoAddress) {
  const Model model = linear();
  auto session = model.bind("cpu:0,cpu:1", 0);
  ASSERT_TRUE(session);
  const TensorView input{"", DType::float32, {0, 5}, nullptr};
  const MutableTensorView output{"", DType::float32, {0, 2}, nullptr};
  EXPECT_TRUE(session->run(std::span(&input, 1), std::span(&output, 1)));
}

TEST(DeviceListValue, IsSharedByWhatIsBoundToIt) {
  auto devices = DeviceList::open("cpu:0-1,cpu:0", 3);
  ASSERT_TRUE(devices) << to_string(devices.error());
  EXPECT_THAT(devices->names(), ElementsAre("cpu:0", "cpu:1", "cpu:0"));
  EXPECT_EQ(devices->text(), "cpu:0,cpu:1,cpu:0");
  EXPECT_EQ(devices->size(), 3U);
  const Model one = linear(), other = linear();
  EXPECT_TRUE(one.bind(*devices, 4));
  EXPECT_TRUE(other.bind(*devices, 5));
  EXPECT_EQ(DeviceList::open("cpu")->text(), "cpu");
  EXPECT_EQ(DeviceList::open("cpu")->size(), 0U);
  EXPECT_FALSE(DeviceList::open("sundial:0"));
  EXPECT_FALSE(DeviceList::open("cpu:0,"));
  EXPECT_THAT(devices_json(), HasSubstr("\"cpu\""));
}

TEST(SharedPlanValue, IsWrittenReadAndUsedByManyModels) {
  const SharedPlan plan = data_parallel_linear(5, 2, PlanBuilder::device(0)).plan;
  auto again = SharedPlan::parse(plan.text(), "again.plan");
  ASSERT_TRUE(again) << to_string(again.error());
  EXPECT_EQ(again->text(), plan.text());
  EXPECT_THAT(again->programs(), ElementsAre("infer"));
  EXPECT_EQ(again->training(), "");
  auto broken = SharedPlan::parse("{", "broken.plan");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().diagnostics[0].location.file, "broken.plan");
  const std::string file = ::testing::TempDir() + "shared.plan";
  ASSERT_TRUE(plan.write(file));
  EXPECT_EQ(SharedPlan::load(file)->text(), plan.text());
  EXPECT_FALSE(plan.write("/nowhere/x.plan"));
  auto one = Model::from_plan(plan), other = Model::from_plan(plan);
  ASSERT_TRUE(one && other && one->initialise_parameters(1) && other->initialise_parameters(2));
  EXPECT_NE(one->read_parameters()->at(0).tensor.bytes, other->read_parameters()->at(0).tensor.bytes) << "own weights";
}

TEST(Parameters, AreReadByNameAndSetInPart) {
  Model model = linear();
  ASSERT_GE(model.parameters().size(), 2U);
  const std::string name = model.parameters()[0].name, rest = model.parameters()[1].name;
  auto before = model.read_parameter(name);
  ASSERT_TRUE(before);
  auto mistyped = model.read_parameter(name + "s");
  ASSERT_FALSE(mistyped);
  EXPECT_THAT(mistyped.error().message(), HasSubstr("did you mean '" + name + "'?"));
  std::vector<std::byte> small(before->bytes.size() - 1);
  EXPECT_FALSE(model.read_parameter(0, small));
  EXPECT_FALSE(model.read_parameter(99, small));

  HostTensor changed = *before;
  for (float& value : changed.as<float>()) value += 1;
  std::vector<TensorView> given = {{name, changed.dtype, changed.shape, changed.bytes.data()}};
  EXPECT_FALSE(model.set_parameters(given)) << "some are missing";
  given.push_back({"other", changed.dtype, changed.shape, changed.bytes.data()});
  auto match = model.update_parameters(given);
  ASSERT_TRUE(match) << to_string(match.error());
  EXPECT_THAT(match->missing, ElementsAre(rest));
  EXPECT_THAT(match->unexpected, ElementsAre("other"));
  EXPECT_EQ(model.read_parameter(name)->bytes, changed.bytes);
  given[0].shape.push_back(1);
  EXPECT_FALSE(model.update_parameters(given)) << "misshapen";
  EXPECT_EQ(model.read_parameter(name)->bytes, changed.bytes);

  auto unset = Model::from_plan(model.plan());
  given[0].shape.pop_back();
  auto refused = unset->update_parameters(given);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("initialise_parameters() first"));
}

TEST(Parameters, AreSavedAndLoaded) {
  const std::string file = ::testing::TempDir() + "saved_parameters.safetensors";
  const Model model = linear();
  ASSERT_TRUE(model.save_parameters(file));
  auto other = Model::from_plan(model.plan());
  auto notes = other->load_parameters(file);
  ASSERT_TRUE(notes) << to_string(notes.error());
  EXPECT_TRUE(notes->empty());
  EXPECT_EQ(other->read_parameters()->at(0).tensor.bytes, model.read_parameters()->at(0).tensor.bytes);
  auto content = read_safetensors(file);
  ASSERT_TRUE(content);
  EXPECT_EQ(content->tensors.size(), model.parameters().size());
  EXPECT_EQ(content->metadata.at("format"), "pt");
  EXPECT_FALSE(other->load_parameters("/nowhere.safetensors"));
}

}  // namespace
}  // namespace sheaf
