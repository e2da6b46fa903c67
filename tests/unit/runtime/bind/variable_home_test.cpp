// Where variables live: on the virtual GPU of their place, from which no step copies them; callers that read or set them see
// plain tensors.
#include "tests/fixtures/convolution_training.h"
#include "runtime/plan/op_list.h"

#include "tests/sim/emulated_module.h"
#include "tests/sim/host_kernels.h"
#include "tests/sim/strict_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace sheaf {
namespace {

using sim::SimMachine;
using ::testing::HasSubstr;

/// A kernel over elements that does what TrainingDevice's operation of its name does. Its third input, if any, is a scalar.
sim::HostKernel over_elements(const std::string& name, size_t inputs) {
  const auto run = [=](const cuda::Launch&, std::span<const uint64_t> arguments, sim::OperationMemory& memory) -> Result<void> {
    const Error illegal("an illegal memory access was encountered");
    const uint64_t work = arguments[inputs + 1], guard = arguments[inputs + 2];
    if (guard != 0) {
      const auto* failed = static_cast<const int32_t*>(memory.access(guard, sizeof(int32_t), false));
      if (!failed) return illegal;
      if (*failed != 0) return {};
    }
    std::vector<void*> buffers;
    for (size_t i = 0; i <= inputs; ++i) {
      const size_t count = i == 2 && i < inputs ? 1 : work;
      buffers.push_back(memory.access(arguments[i], count * sizeof(float), i == inputs));
      if (!buffers.back()) return illegal;
    }
    TrainingDevice::functions().at(name)(buffers.data(), std::vector<int64_t>(inputs + 1, static_cast<int64_t>(work)));
    return {};
  };
  return {inputs + 3, run};
}

/// Its K_many(table, count, guard): a row of the table is the work and then the buffers.
sim::HostKernel over_rows(const std::string& name, size_t inputs) {
  const auto run = [=, one = over_elements(name, inputs)](const cuda::Launch& launch, std::span<const uint64_t> arguments,
                                                          sim::OperationMemory& memory) -> Result<void> {
    const size_t width = inputs + 2;
    const auto* table =
        static_cast<const uint64_t*>(memory.access(arguments[0], arguments[1] * width * sizeof(uint64_t), false));
    if (!table) return Error("an illegal memory access was encountered");
    for (const uint64_t* row = table; row != table + arguments[1] * width; row += width) {
      std::vector<uint64_t> values(row + 1, row + width);
      values.insert(values.end(), {row[0], arguments[2]});
      SHEAF_TRY(one.run(launch, values, memory));
    }
    return {};
  };
  return {3, run};
}

/// GPUs whose convolutions want channels last; `operations` prepares everything but kernels, and is the host's device too.
sim::MachineOptions gpus(std::shared_ptr<Device> operations = std::make_shared<KernelDevice>()) {
  sim::MachineOptions options = sim::strict(1, std::move(operations));
  options.library.channels_last = true;
  options.collectives = false;  // a value that goes to another device is a copy, which can be counted
  options.driver.load = [](const std::string& text) -> Result<std::shared_ptr<const sim::KernelCode>> {
    if (text != ConvolutionPlan::kPtx) return sim::emulated_module(text);  // a queue's own
    const std::map<std::string, sim::HostKernel> kernels = {{"halve_and_add", over_elements("halve_and_add", 2)},
                                                            {"halve_and_add_many", over_rows("halve_and_add", 2)},
                                                            {"descend", over_elements("descend", 3)},
                                                            {"descend_many", over_rows("descend", 3)}};
    return std::shared_ptr<const sim::KernelCode>(std::make_shared<sim::HostKernels>(kernels));
  };
  return options;
}

TEST(VariableHome, IsTheDeviceOfItsPlaceAndNoStepCopiesItThere) {
  const Model reference = ConvolutionPlan(true).model();
  auto on_host = trainer_of(reference, training_devices(1, std::make_shared<KernelDevice>()), 6);
  ASSERT_TRUE(on_host);
  const Trained expected = train(reference, *on_host, 6);
  SimMachine machine(gpus());
  {
    const Model model = ConvolutionPlan(true).model();
    auto trainer = trainer_of(model, machine.list("cuda:0,cuda:0"), 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    for (const char* name : {"w", "w.m", "new_w", "new_m"}) EXPECT_EQ(count(*trainer, Op::copy, name), 0) << name;
    EXPECT_EQ(count(*trainer, Op::update, "new_w"), 0) << "it is made over the old one";
    const Trained found = train(model, *trainer, 6);
    for (size_t i = 0; i < found.w.size(); ++i) ASSERT_NEAR(found.w[i], expected.w[i], 1e-5);
    for (size_t i = 0; i < found.m.size(); ++i) ASSERT_NEAR(found.m[i], expected.m[i], 1e-4 * (1 + std::abs(expected.m[i])));
  }
  const Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, machine.list("cuda:0,cuda:1"), 6);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  EXPECT_EQ(count(*trainer, Op::copy, "w"), 1) << "to the second device, in its format";
  EXPECT_EQ(count(*trainer, Op::reorder, "w.m"), 0);
  EXPECT_EQ(count(*trainer, Op::copy, "w.m"), 0);
  const auto& lanes = trainer->binding().info().lanes;
  EXPECT_EQ(lanes[0].parameter_bytes, 0U) << "the host has none";
  EXPECT_EQ(lanes[1].parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));
  EXPECT_EQ(lanes[2].parameter_bytes, 0U) << "what the second works with is in its arena";
  const Trained found = train(model, *trainer, 6);
  for (size_t i = 0; i < found.w.size(); ++i) ASSERT_NEAR(found.w[i], expected.w[i], 1e-5);
}

TEST(VariableHome, WhatIsReadAndSetIsWhatTheStepsSee) {
  SimMachine machine(gpus());
  const Model reference = ConvolutionPlan(true).model();
  Model model = ConvolutionPlan(true).model();
  EXPECT_EQ(parameter_values(model, 0), parameter_values(reference, 0)) << "before anything is bound";
  auto expected = trainer_of(reference, machine.list("cpu:0"), 4);
  auto trainer = trainer_of(model, machine.list("cuda:0"), 4);
  ASSERT_TRUE(expected && trainer);
  const auto& all = trainer->binding().info().operations;
  const auto conv = std::find_if(all.begin(), all.end(), [](const OperationInfo& info) { return info.op == Op::conv; });
  EXPECT_FALSE(conv->input_specs[1].plain()) << "or this test shows less";
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
  SimMachine machine(gpus());
  const Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, machine.list("cuda:0"), 4);
  ASSERT_TRUE(trainer);
  auto there = model.bind(machine.list("cuda:0"), 4), here = model.bind(machine.list("cpu"), 4),
       beside = model.bind(machine.list("cuda:1"), 4);
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
  auto refused = trainer_of(model, machine.list("cpu:0"), 4);
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("'w' lives on a device that is not in this device list"));
}

TEST(VariableHome, IsNotSettledByABindingThatFailed) {
  auto bad = std::make_shared<KernelDevice>();
  bad->fail_layer = "dw2";
  SimMachine machine(gpus(bad));
  const auto host = std::make_shared<KernelDevice>();
  const Model model = ConvolutionPlan(true).model();
  const auto weights = parameter_values(model, 0);
  for (const char* list : {"cuda:0", "cuda:0,cuda:0"}) {
    auto failed = trainer_of(model, machine.list(list), 4);
    ASSERT_FALSE(failed);
    EXPECT_THAT(to_string(failed.error()), HasSubstr("not today"));
  }
  EXPECT_EQ(parameter_values(model, 0), weights);
  auto trainer = trainer_of(model, training_devices(1, host), 4);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  EXPECT_EQ(trainer->binding().info().parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));
  EXPECT_EQ(trainer->binding().info().derived_bytes, 0U) << "nor is anything kept that was made for it";
  EXPECT_EQ(machine.driver().used_bytes(0), 0) << "on the device that it did not come to live on";
  const Model reference = ConvolutionPlan(true).model();
  auto expected = trainer_of(reference, training_devices(1, host), 4);
  ASSERT_TRUE(expected);
  EXPECT_EQ(train(model, *trainer, 4), train(reference, *expected, 4));
}

}  // namespace
}  // namespace sheaf
