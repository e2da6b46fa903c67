// An estimate equals what a run takes, to the byte, and takes nothing itself.
#include "runtime/plan/op_list.h"
#include "runtime/session/open_devices.h"
#include "tests/sim/strict_machine.h"
#include "tests/unit/tools/estimate/two_layers.h"
#include "tests/fixtures/training_plan.h"

#include "runtime/bind/binding.h"
#include "tools/estimate/estimate.h"
#include "sheaf/model.h"
#include "sheaf/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace sheaf {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

size_t total(const MemoryByPurpose& bytes) { return std::accumulate(bytes.begin(), bytes.end(), size_t{0}); }
size_t of(const MemoryByPurpose& bytes, Value::Purpose kind) { return bytes[static_cast<size_t>(kind)]; }

std::vector<std::string> names_of(const DeviceSet& devices) {
  std::vector<std::string> names;
  for (int i = 0; i < devices.entries(); ++i) names.push_back(devices.entry_name(i));
  return devices.host_only() ? std::vector<std::string>{"cpu"} : names;
}

Estimate estimated(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch) {
  auto made = estimate(plan, program, names_of(devices), devices, batch);
  if (!made) {
    ADD_FAILURE() << to_string(made.error());
    return {};
  }
  return std::move(*made);
}

void expect_equal(const Estimate& estimate, const BindingInfo& info) {
  ASSERT_EQ(estimate.devices.size(), info.lanes.size());
  for (size_t i = 0; i < info.lanes.size(); ++i) {
    const DeviceEstimate& device = estimate.devices[i];
    EXPECT_EQ(device.device, info.lanes[i].name);
    EXPECT_EQ(device.arena_bytes, info.lanes[i].arena_bytes) << device.device;
    EXPECT_EQ(device.arena_bound, info.lanes[i].arena_bound) << device.device;
    EXPECT_EQ(device.operations, info.lanes[i].operations) << device.device;
    EXPECT_EQ(total(device.at_peak), device.arena_bound) << "classes make up all that is live: " << device.device;
    for (size_t kind = 0; kind < kPurposes; ++kind) EXPECT_GE(device.most[kind], device.at_peak[kind]);
  }
  EXPECT_EQ(estimate.parameter_bytes, info.parameter_bytes);
  EXPECT_EQ(estimate.derived_bytes, info.derived_bytes);
}

TEST(EstimatedMemory, IsWhatARunTakes) {
  for (const char* list : {"cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0-2"}) {
    for (int64_t batch : {1, 2, 7, 64}) {
      SCOPED_TRACE(std::string(list) + " batch " + std::to_string(batch));
      const PlanBuilder b = two_layers();
      auto model = Model::from_plan(b.plan);
      ASSERT_TRUE(model && model->initialise_parameters(0));
      auto session = model->bind(list, batch);
      ASSERT_TRUE(session) << to_string(session.error());
      auto devices = open_devices(*parse_devices(list));
      ASSERT_TRUE(devices);
      expect_equal(estimated(b.plan, b.plan.infer, *devices, batch), session->binding().info());
    }
  }
}

TEST(EstimatedMemory, OfATrainingStepIsByClass) {
  const TrainingPlan training;
  for (int count : {0, 1, 2, 3}) {
    SCOPED_TRACE(std::to_string(count) + " devices");
    const auto devices = training_devices(count);
    const Estimate estimate = estimated(training.b.plan, training.b.plan.train, *devices, 1000);
    auto model = Model::from_plan(training.b.plan);
    ASSERT_TRUE(model && model->initialise_parameters(0));
    auto trainer = Trainer::bind(*model, devices, 1000);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    expect_equal(estimate, trainer->binding().info());
    // w and row, 3 floats each, and w.m: outside the arenas, once.
    EXPECT_EQ(of(estimate.devices[0].lasting, Value::Purpose::parameters), 24u);
    EXPECT_EQ(of(estimate.devices[0].lasting, Value::Purpose::optimizer), 12u);
    size_t gradients = 0;
    for (const DeviceEstimate& device : estimate.devices) gradients += of(device.most, Value::Purpose::gradients);
    // Each replica's dws, a block of 64 bytes; their sum is placed over the first one.
    EXPECT_EQ(gradients, 64u * size_t(std::max(count, 1)));
  }
}

TEST(EstimatedMemory, NamesThePeakAndWhatIsLiveThen) {
  const TrainingPlan training;
  const auto devices = training_devices(2);
  const Estimate estimate = estimated(training.b.plan, training.b.plan.train, *devices, 1000);
  const DeviceEstimate& first = estimate.devices[1];  // behind the host
  ASSERT_GE(first.peak_operation, 0);
  EXPECT_EQ(estimate.operations[size_t(first.peak_operation)].lane, "cpu:0");
  ASSERT_FALSE(first.largest.empty());
  EXPECT_LE(first.largest.size(), 10u);
  EXPECT_EQ(first.largest[0].bytes, 4032u) << "1000 floats, in blocks of 64 bytes";
  EXPECT_EQ(first.largest[0].shape, "float32 1000");
  for (size_t i = 1; i < first.largest.size(); ++i) EXPECT_GE(first.largest[i - 1].bytes, first.largest[i].bytes);
  EXPECT_EQ(first.peak_bytes, first.arena_bytes) << "parameters are the host's";
  EXPECT_EQ(estimate.input_bytes, 1000u * 3 * 4 + 1000 * 4 + 4 + 8) << "x, t, lr, step";
  EXPECT_EQ(estimate.output_bytes, 4u);
}

TEST(EstimatedMemory, TouchesNoDevice) {
  const PlanBuilder b = data_parallel_linear(37, 19, PlanBuilder::device(0));
  sim::SimMachine machine(sim::strict());
  const auto devices = machine.list("cuda:0,cuda:1");
  // Far more than there is: a run would be refused, an estimate says how much it would be.
  const int64_t rows = int64_t{1} << 40;
  const Estimate estimate = estimated(b.plan, b.plan.infer, *devices, rows / 64);
  EXPECT_EQ(machine.driver().calls(sim::Call::allocate), 0);
  EXPECT_GT(estimate.devices[2].arena_bytes, size_t(rows) / 128 * (37 + 19) * 4 - 1) << "a chunk and its result";
  EXPECT_GT(of(estimate.devices[2].most, Value::Purpose::communication), size_t(rows) / 128 * 37 * 4 - 1)
      << "the chunk, copied there";
}

TEST(EstimatedMemory, WhatDoesNotFitIsRefusedBeforeAnythingIsTaken) {
  auto model = Model::from_plan(two_layers().plan);
  ASSERT_TRUE(model && model->initialise_parameters(0));
  const int64_t rows = cpu_device()->info().memory_bytes / 200;  // 256 bytes each
  auto session = model->bind("cpu:0,cpu:1", rows);
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("of memory are needed; the host has"));
  EXPECT_THAT(session.error().diagnostics[0].notes, Contains(HasSubstr("the largest arena is that of cpu:0")));
  EXPECT_THAT(session.error().diagnostics[0].notes, Contains(HasSubstr("'net.fc1'")));
  EXPECT_TRUE(model->bind("cpu:0,cpu:1", 8)) << "the model goes on";
}

TEST(EstimatedMemory, LargestBatchIsTheLargest) {
  const PlanBuilder b = two_layers();
  auto devices = open_devices(*parse_devices("cpu:0,cpu:1,cpu:2"));
  ASSERT_TRUE(devices);
  std::vector<size_t> peaks = {0};
  for (int64_t batch = 1; batch <= 470; ++batch) {
    size_t most = 0;
    for (const DeviceEstimate& device : estimated(b.plan, b.plan.infer, *devices, batch).devices)
      most = std::max(most, device.peak_bytes);
    peaks.push_back(most);
  }
  for (int64_t start : {1, 450}) {
    const Estimate from = estimated(b.plan, b.plan.infer, *devices, start);
    for (size_t limit : {peaks[1] - 1, peaks[1], peaks[400], peaks[433] + 1}) {
      SCOPED_TRACE(std::to_string(limit) + " bytes, from " + std::to_string(start));
      int64_t expected = 0;
      for (size_t batch = 1; batch < peaks.size(); ++batch) expected = peaks[batch] <= limit ? int64_t(batch) : expected;
      const LargestBatch largest = largest_batch(b.plan, b.plan.infer, *devices, from, double(limit));
      EXPECT_EQ(largest.batch, expected);
      EXPECT_TRUE(largest.monotonic);
      EXPECT_FALSE(largest.at_least);
      if (expected > 0) EXPECT_EQ(largest.peak_bytes, peaks[size_t(expected)]);
    }
  }
}

TEST(EstimatedMemory, ABatchThatTakesNothingHasNoLargest) {
  // Inputs and outputs are the caller's, and between them there is nothing.
  const PlanBuilder b = data_parallel_linear(37, 19, PlanBuilder::device(0));
  auto devices = open_devices(*parse_devices("cpu:0,cpu:1"));
  ASSERT_TRUE(devices);
  const LargestBatch largest =
      largest_batch(b.plan, b.plan.infer, *devices, estimated(b.plan, b.plan.infer, *devices, 8), 1 << 20);
  EXPECT_TRUE(largest.at_least);
  EXPECT_GE(largest.batch, int64_t{1} << 24);
}

TEST(EstimatedTime, TwoDevicesShareTheWork) {
  const PlanBuilder b = data_parallel_linear(370, 190, PlanBuilder::device(0));
  EstimateOptions options;
  options.description = guessed_devices();
  DeviceDescription& cpu = options.description->kinds["cpu"];
  cpu = DeviceDescription();
  cpu.cores = 4;
  cpu.flops_per_second = 4e9;
  cpu.bytes_per_second = cpu.core_bytes_per_second = cpu.copy_bytes_per_second = 1e15;
  const auto time = [&](int count) {
    std::vector<std::shared_ptr<Device>> entries(static_cast<size_t>(count), cpu_device());
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back("cpu:" + std::to_string(i));
    // 1 thread per lane, whatever the list: only the work decides.
    const DeviceSet devices(cpu_device(), entries, names, count);
    auto made = estimate(b.plan, b.plan.infer, names, devices, 1200, options);
    EXPECT_TRUE(made);
    return made ? made->step_seconds : 0;
  };
  const double flops = 1200.0 * 190 * (2 * 370 + 1);
  EXPECT_NEAR(time(1), flops / 1e9, flops / 1e12);
  EXPECT_NEAR(time(2), flops / 2e9, flops / 1e12);
  EXPECT_NEAR(time(3), flops / 3e9, flops / 1e12);
}

TEST(EstimatedMovements, AreThoseOfTheGraph) {
  PlanBuilder b = data_parallel_linear(37, 19, PlanBuilder::device(0));
  b.plan.infer_graph = b.plan.infer;
  auto devices = open_devices(*parse_devices("cpu:0,cpu:1"));
  ASSERT_TRUE(devices);
  const Estimate estimate = estimated(b.plan, b.plan.infer, *devices, 7);
  int64_t sum = 0;
  for (const MovementEstimate& movement : estimate.movements) {
    sum += movement.bytes_moved;
    if (movement.op == "scatter") EXPECT_EQ(movement.bytes_moved, 7 * 37 * 4) << "from the host to both";
    if (movement.op == "gather") EXPECT_EQ(movement.bytes_moved, 3 * 19 * 4) << "replica 0 is there already";
    if (movement.op == "replicate") EXPECT_EQ(movement.bytes_moved, 2 * (37 * 19 + 19) * 4);
  }
  EXPECT_EQ(estimate.movements.size(), 3u);
  EXPECT_EQ(estimate.bytes_moved, sum);
  EXPECT_EQ(estimate.cost.flops, 7 * 19 * (2 * 37 + 1));
}

}  // namespace
}  // namespace sheaf
