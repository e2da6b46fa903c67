// Where variables live, and in which format: no step copies or reorders them, and whoever reads or sets them sees plain tensors.
#include "convolution_plan.h"
#include "fake_device.h"
#include "variable_values.h"

#include "runtime/bind/binding.h"
#include "runtime/bind/kernel_step.h"
#include "runtime/cpu/dnnl_format.h"
#include "runtime/training/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

/// Kernels of a plan are the tests' own functions, over elements.
class KernelDevice : public TrainingDevice {
 public:
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return std::make_shared<const Kernels>(); }
  Result<Prepared> prepare(const PrepareRequest& request) override {
    if (request.step.op != "kernel") return TrainingDevice::prepare(request);
    auto kernel = prepare_kernel_step(request, same_layout_of);
    if (!kernel) return kernel.error();
    Step named = request.step;
    named.op = request.step.kernel;
    auto made = TrainingDevice::prepare({named, request.plan, request.inputs, request.outputs, request.threads, false, request.constant});
    if (made) kernel->prepared.executable = std::move(made->executable);
    return made ? std::move(kernel->prepared) : std::move(made);
  }
};

using Devices = std::shared_ptr<const DeviceSet>;

Devices list_of(std::shared_ptr<Device> host, std::vector<std::shared_ptr<Device>> entries) {
  std::vector<std::string> names;
  for (size_t i = 0; i < entries.size(); ++i) names.push_back("fake:" + std::to_string(i));
  return std::make_shared<const DeviceSet>(std::move(host), std::move(entries), std::move(names), 1);
}

Result<Trainer> trainer_of(const Model& model, Devices devices, int64_t batch) { return Trainer::bind(model, std::move(devices), batch, nullptr); }

/// Operations of kind `op` whose first input, or output, is the tensor `name`.
int count(const Trainer& trainer, const std::string& op, const std::string& name) {
  const auto first = [&](const std::vector<std::string>& operands) { return !operands.empty() && operands[0].starts_with(name); };
  const auto& all = trainer.info().operations;
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const OperationInfo& operation) {
    return (op == "copy" ? operation.implementation : operation.op) == op && (first(operation.inputs) || first(operation.outputs));
  }));
}

struct Trained {
  std::vector<float> losses, w, m;
  bool operator==(const Trained&) const = default;
};

Trained train(const Model& model, Trainer& trainer, int64_t rows, int steps = 3) {
  const ConvolutionBatch batch(rows);
  Trained result;
  for (int i = 0; i < steps; ++i) {
    auto loss = trainer.step(batch.buffers());
    EXPECT_TRUE(loss) << to_string(loss.error());
    result.losses.push_back(loss ? *loss : -1);
  }
  result.w = parameter_values(model, 0);
  result.m = state_values(model, trainer, 0);
  return result;
}

TEST(VariableFormat, IsThatOfTheFirstReaderAndNoStepReordersIt) {
  const auto host = std::make_shared<KernelDevice>();
  const Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, training_devices(1, host), 4);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  for (const char* name : {"w.m ", "dw1", "dw2", "new_w", "new_m", "half"}) EXPECT_EQ(count(*trainer, "reorder", name), 0) << name;
  EXPECT_LE(count(*trainer, "reorder", "w "), 1) << "for the gradient by images, which may want another";
  const auto& all = trainer->info().operations;
  const auto conv = std::find_if(all.begin(), all.end(), [](const OperationInfo& info) { return info.op == "conv"; });
  EXPECT_FALSE(conv->input_specs[1].plain()) << "or this test shows nothing";
  EXPECT_EQ(trainer->info().parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));

  // A session that was there before has settled it as plain: other formats, the same bits.
  const Model plain = ConvolutionPlan(true).model();
  const auto devices = training_devices(1, host);
  auto session = plain.bind(devices, 4);
  ASSERT_TRUE(session) << to_string(session.error());
  auto slower = trainer_of(plain, devices, 4);
  ASSERT_TRUE(slower) << to_string(slower.error());
  EXPECT_GT(count(*slower, "reorder", "w "), count(*trainer, "reorder", "w "));
  const Trained expected = train(plain, *slower, 4), found = train(model, *trainer, 4);
  EXPECT_EQ(found, expected);
  EXPECT_LT(found.losses.back(), found.losses.front());
}

TEST(VariableFormat, IsKeptByAllBindingsOfTheModel) {
  const auto host = std::make_shared<KernelDevice>();
  const Model model = ConvolutionPlan(true).model();
  const auto devices = training_devices(2, host);
  auto whole = trainer_of(model, devices, 5), rest = trainer_of(model, devices, 2);
  auto session = model.bind(devices, 3);
  ASSERT_TRUE(whole && rest && session);
  EXPECT_EQ(count(*rest, "reorder", "w "), count(*whole, "reorder", "w "));
  train(model, *whole, 5, 2);
  train(model, *rest, 2, 1);
  const ConvolutionBatch batch(3);
  std::vector<float> y(3 * 400), expected(y.size());
  const void* in[] = {batch.x.data()};
  void *out[] = {y.data()}, *wanted[] = {expected.data()};
  ASSERT_TRUE(session->run(in, out));
  // A model that is given the weights as they are now.
  const Model other = ConvolutionPlan(true).model();
  Model copy = other;
  const auto w = parameter_values(model, 0);
  ASSERT_TRUE(copy.set_parameters(std::vector<TensorView>{{"w", DType::float32, {16, 16, 3, 3}, w.data()}}));
  auto fresh = copy.bind(devices, 3);
  ASSERT_TRUE(fresh && fresh->run(in, wanted));
  EXPECT_EQ(y, expected);
}

TEST(VariableHome, IsTheDeviceOfItsPlaceAndNoStepCopiesItThere) {
  const auto host = std::make_shared<KernelDevice>();
  auto one = std::make_shared<FakeDevice>(1, host), two = std::make_shared<FakeDevice>(2, host);
  const Model reference = ConvolutionPlan(true).model();
  auto on_host = trainer_of(reference, training_devices(1, host), 6);
  ASSERT_TRUE(on_host);
  const Trained expected = train(reference, *on_host, 6);
  {
    Model model = ConvolutionPlan(true).model();
    auto trainer = trainer_of(model, list_of(host, {one, one}), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    for (const char* name : {"w ", "w.m ", "new_w", "new_m"}) EXPECT_EQ(count(*trainer, "copy", name), 0) << name;
    EXPECT_EQ(count(*trainer, "update", "new_w"), 0) << "it is made over the old one";
    const Trained found = train(model, *trainer, 6);
    for (size_t i = 0; i < found.w.size(); ++i) ASSERT_NEAR(found.w[i], expected.w[i], 1e-5);
    for (size_t i = 0; i < found.m.size(); ++i) ASSERT_NEAR(found.m[i], expected.m[i], 1e-4 * (1 + std::abs(expected.m[i])));
  }
  Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, list_of(host, {one, two}), 6);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  EXPECT_EQ(count(*trainer, "copy", "w "), 1) << "to the second device, in its format";
  EXPECT_EQ(count(*trainer, "reorder", "w.m "), 0);
  EXPECT_EQ(count(*trainer, "copy", "w.m "), 0);
  const auto& lanes = trainer->info().lanes;
  EXPECT_EQ(lanes[0].parameter_bytes, 0U) << "the host has none";
  EXPECT_EQ(lanes[1].parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));
  EXPECT_EQ(lanes[2].parameter_bytes, 0U) << "what the second works with is in its arena";
  const Trained found = train(model, *trainer, 6);
  for (size_t i = 0; i < found.w.size(); ++i) ASSERT_NEAR(found.w[i], expected.w[i], 1e-5);
}

TEST(VariableHome, WhatIsReadAndSetIsWhatTheStepsSee) {
  const auto host = std::make_shared<KernelDevice>();
  auto one = std::make_shared<FakeDevice>(1, host);
  const Model reference = ConvolutionPlan(true).model();
  Model model = ConvolutionPlan(true).model();
  EXPECT_EQ(parameter_values(model, 0), parameter_values(reference, 0)) << "before anything is bound";
  auto expected = trainer_of(reference, training_devices(1, host), 4);
  auto trainer = trainer_of(model, list_of(host, {one}), 4);
  ASSERT_TRUE(expected && trainer);
  EXPECT_EQ(parameter_values(model, 0), parameter_values(reference, 0)) << "after it has moved";
  EXPECT_EQ(train(model, *trainer, 4, 2), train(reference, *expected, 4, 2));
  // Resumed: the values of two steps earlier, into variables that have homes.
  const auto w = parameter_values(model, 0), m = state_values(model, *trainer, 0);
  const Trained onwards = train(model, *trainer, 4, 2);
  ASSERT_TRUE(model.set_parameters(std::vector<TensorView>{{"w", DType::float32, {16, 16, 3, 3}, w.data()}}));
  ASSERT_TRUE(trainer->set_state(std::vector<TensorView>{{"w.m", DType::float32, {16, 16, 3, 3}, m.data()}}));
  EXPECT_EQ(parameter_values(model, 0), w);
  EXPECT_EQ(state_values(model, *trainer, 0), m);
  EXPECT_EQ(train(model, *trainer, 4, 2), onwards);
}

TEST(VariableHome, SessionsElsewhereWorkOnCopiesAndTrainersElsewhereAreRefused) {
  const auto host = std::make_shared<KernelDevice>();
  auto one = std::make_shared<FakeDevice>(1, host), two = std::make_shared<FakeDevice>(2, host);
  Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, list_of(host, {one}), 4);
  ASSERT_TRUE(trainer);
  auto there = model.bind(list_of(host, {one}), 4), here = model.bind(training_devices(0, host), 4),
       beside = model.bind(list_of(host, {two}), 4);
  ASSERT_TRUE(there && here && beside);
  const ConvolutionBatch batch(4);
  const void* in[] = {batch.x.data()};
  std::vector<float> before(4 * 400);
  for (int step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> y(3, std::vector<float>(4 * 400));
    void *a[] = {y[0].data()}, *b[] = {y[1].data()}, *c[] = {y[2].data()};
    ASSERT_TRUE(there->run(in, a) && here->run(in, b) && beside->run(in, c));
    EXPECT_EQ(y[0], y[1]);
    EXPECT_EQ(y[0], y[2]);
    EXPECT_NE(y[0], before) << "weights have changed";
    before = y[0];
    train(model, *trainer, 4, 1);
  }
  auto refused = trainer_of(model, training_devices(1, host), 4);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("'w' lives on a device that is not in this device list"));
}

TEST(VariableHome, IsNotSettledByABindingThatFailed) {
  const auto host = std::make_shared<KernelDevice>();
  auto bad = std::make_shared<FakeDevice>(1, host);
  bad->fail_layer = "dw2";
  Model model = ConvolutionPlan(true).model();
  const auto weights = parameter_values(model, 0);
  ASSERT_FALSE(trainer_of(model, list_of(host, {bad}), 4));
  ASSERT_FALSE(trainer_of(model, list_of(host, {bad, bad}), 4));
  EXPECT_EQ(parameter_values(model, 0), weights);
  auto trainer = trainer_of(model, training_devices(1, host), 4);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  EXPECT_EQ(trainer->info().parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));
  EXPECT_EQ(trainer->info().derived_bytes, 0U) << "nor is anything kept that was made for it";
  EXPECT_EQ(bad->allocated, 0);
  const Model reference = ConvolutionPlan(true).model();
  auto expected = trainer_of(reference, training_devices(1, host), 4);
  ASSERT_TRUE(expected);
  EXPECT_EQ(train(model, *trainer, 4), train(reference, *expected, 4));
}

}  // namespace
}  // namespace sheaf
