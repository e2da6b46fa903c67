// Training on virtual GPUs: the numbers of plain C++, whatever stands between the lanes, and what a step asks of the driver.
#include "runtime/plan/op_list.h"
#include "tests/sim/sim_machine.h"
#include "tests/fixtures/training_plan.h"
#include "tests/fixtures/variable_values.h"

#include "runtime/bind/binding.h"
#include "sheaf/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sheaf {
namespace {

using sim::Call;
using sim::MachineOptions;
using sim::SimMachine;
using ::testing::HasSubstr;
using ::testing::Not;

MachineOptions machine(bool collectives = true) {
  MachineOptions options;
  options.driver.devices = 3;
  options.driver.violation = [](const std::string& what) { ADD_FAILURE() << what; };
  options.library.operations = std::make_shared<TrainingDevice>();
  options.collectives = collectives;
  return options;
}

struct Batch {
  std::vector<float> x, t;
  explicit Batch(int64_t rows, int seed = 0) : x(size_t(rows) * 3), t(size_t(rows)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(int(i * 7 + size_t(seed) * 5) % 5 - 2);
    for (size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(int(i * 3 + size_t(seed)) % 4 - 1);
  }
  std::vector<const void*> buffers() const { return {x.data(), t.data()}; }
};

/// A model in training on a machine. Goes in an order in which nothing outlives what it needs.
struct Training {
  SimMachine machine;
  std::shared_ptr<const DeviceSet> devices;
  Model model;
  std::unique_ptr<Trainer> trainer;

  Training(const MachineOptions& options, const std::string& list, const TrainingOptions& plan, int64_t rows,
           const BindOptions& bind = {})
      : machine(options), devices(machine.list(list)), model(load(plan)) {
    auto bound = Trainer::bind(model, devices, rows, bind);
    EXPECT_TRUE(bound) << to_string(bound.error());
    if (bound) trainer = std::make_unique<Trainer>(std::move(*bound));
    if (trainer) trainer->progress().lr = 0.125 / double(rows + 1);
  }
  static Model load(const TrainingOptions& options) {
    TrainingPlan made(options);
    auto loaded = Model::from_plan(std::move(made.b.plan));
    EXPECT_TRUE(loaded && loaded->initialise_parameters(0));
    return *loaded;
  }
};

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << what << " at " << i;
}

void expect_trains(Training& training, int64_t rows) {
  TrainingReference reference;
  reference.lr = static_cast<float>(training.trainer->progress().lr);
  for (int step = 0; step < 4; ++step) {  // eager, recorded, replayed
    const Batch batch(rows, step);
    const float expected = reference.step(batch.x, batch.t);
    auto loss = training.trainer->step(batch.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_NEAR(*loss, expected, 1e-3 * (1 + expected));
    expect_near(parameter_values(training.model, 0), reference.w, "w");
    expect_near(parameter_values(training.model, 1), reference.row, "row");
    expect_near(state_values(training.model, *training.trainer, 0), reference.m, "w.m");
  }
}

TEST(GpuTraining, TheNumbersOfPlainCodeOnAllLists) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cuda:0,cuda:0", "cuda:0,cuda:1,cuda:2", "cuda:0,cuda:0,cuda:1",
                           "cuda:0,cpu:0", "cpu:0,cuda:0"}) {
    for (const bool collectives : {true, false}) {
      for (const int plain : {0, 1, 2}) {
        SCOPED_TRACE(std::string(list) + (collectives ? ", collectives" : "") + ", " + std::to_string(plain));
        BindOptions bind;
        bind.graphs = plain != 1;
        bind.deterministic = plain != 2;
        Training training(machine(collectives), list, {}, 7, bind);
        ASSERT_TRUE(training.trainer);
        expect_trains(training, 7);
      }
    }
  }
}

TEST(GpuTraining, UpdatesInAnyOrderOfReadersAndWriters) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    for (int variant = 0; variant < 5; ++variant) {
      TrainingOptions options;
      options.in_place = variant != 0;
      options.slow_reader = variant == 1 || variant == 4;
      options.reads_after = variant == 2;
      options.swap = variant == 3;
      options.refuse = variant == 4;
      SCOPED_TRACE(std::string(list) + ", variant " + std::to_string(variant));
      Training training(machine(), list, options, 6);
      ASSERT_TRUE(training.trainer);
      expect_trains(training, 6);
    }
  }
}

TEST(GpuTraining, WhatCannotBeCapturedIsLaunchedWithTheSameNumbers) {
  for (const Call call : {Call::begin_capture, Call::end_capture}) {
    SCOPED_TRACE(sim::name_of(call));
    Training training(machine(), "cuda:0", {}, 7);
    ASSERT_TRUE(training.trainer);
    training.machine.driver().fail(call, 1, "not now");
    ::testing::internal::CaptureStderr();
    expect_trains(training, 7);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                ::testing::AllOf(::testing::StartsWith("warning: cuda:0: "), ::testing::HasSubstr("not now")));
    EXPECT_EQ(training.machine.driver().calls(Call::launch_graph), 0);
  }
}

/// Kernels are loaded when they are first launched, and a collective that waits for another device's may keep the loader waiting.
TEST(GpuTraining, EachOperationHasRunByItselfBeforeTheFirstStepOfSeveralGpus) {
  const auto launches_of_first_step = [](bool collectives) {
    Training training(machine(collectives), "cuda:0,cuda:1", {}, 6);
    sim::SimDriver& driver = training.machine.driver();
    const Batch batch(6);
    std::vector<int64_t> made;
    for (int step = 0; step < 2; ++step) {
      const int64_t before = driver.calls(Call::launch) + driver.calls(Call::host_function);
      EXPECT_TRUE(training.trainer->step(batch.buffers()));
      made.push_back(driver.calls(Call::launch) + driver.calls(Call::host_function) - before);
    }
    return made;
  };
  const auto alone = launches_of_first_step(false), together = launches_of_first_step(true);
  EXPECT_EQ(alone[0], alone[1]);
  EXPECT_GT(together[0], together[1]) << "all but what writes variables ran once before";
}

TEST(GpuTraining, OneInputCopyOneReplayOneOutputCopy) {
  Training training(machine(), "cuda:0", {}, 4);
  ASSERT_TRUE(training.trainer);
  const Batch batch(4);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(training.trainer->step(batch.buffers()));
  sim::SimDriver& driver = training.machine.driver();
  const auto counts = [&] {
    std::map<std::string, int64_t> all;
    for (int call = 0; call < static_cast<int>(Call::count); ++call) {
      all[std::string(sim::name_of(static_cast<Call>(call)))] = driver.calls(static_cast<Call>(call));
    }
    return all;
  };
  const auto before = counts();
  ASSERT_TRUE(training.trainer->step(batch.buffers()));
  auto after = counts();
  for (auto& [name, count] : after) count -= before.at(name);
  EXPECT_EQ(after[std::string(sim::name_of(Call::launch_graph))], 1);
  EXPECT_EQ(after[std::string(sim::name_of(Call::copy))], 2) << "x, t and lr in one; the loss";
  EXPECT_EQ(after[std::string(sim::name_of(Call::launch))] + after[std::string(sim::name_of(Call::host_function))], 0);
  for (const Call call : {Call::allocate, Call::allocate_pinned, Call::make_event, Call::make_stream, Call::begin_capture}) {
    EXPECT_EQ(after[std::string(sim::name_of(call))], 0) << sim::name_of(call);
  }
}

TEST(GpuTraining, BucketsAmongDistinctDevicesOnly) {
  struct {
    const char* list;
    bool collectives, deterministic;
    size_t broadcasts, gathers, reduces;
  } const cases[] = {{"cuda:0,cuda:1", true, true, 2, 2, 0},        {"cuda:0,cuda:1,cuda:2", true, true, 3, 3, 0},
                     {"cuda:0,cuda:1", true, false, 2, 0, 2},       {"cuda:0,cuda:1", false, true, 0, 0, 0},
                     {"cuda:0,cuda:0", true, true, 0, 0, 0},        {"cuda:0,cuda:1,cuda:1", true, true, 0, 0, 0},
                     {"cuda:0,cuda:0,cuda:1", true, false, 0, 0, 0}};
  for (const auto& expected : cases) {
    SCOPED_TRACE(expected.list);
    BindOptions bind;
    bind.deterministic = expected.deterministic;
    Training training(machine(expected.collectives), expected.list, {}, 7, bind);
    ASSERT_TRUE(training.trainer);
    size_t broadcasts = 0, gathers = 0, reduces = 0, arrows = 0;
    for (const OperationInfo& operation : training.trainer->binding().info().operations) {
      if (operation.steps.empty()) continue;
      broadcasts += operation.op == Op::broadcast;
      gathers += operation.op == Op::gather;
      reduces += operation.op == Op::sum;
      EXPECT_THAT(operation.reason, HasSubstr("1 parameter"));
    }
    for (const Communication& communication : training.trainer->binding().info().communications) {
      if (!communication.layer.empty() || communication.op == Op::transfer || communication.op == Op::share) continue;
      ++arrows;
      EXPECT_EQ(communication.bytes, 12) << to_string(communication.op);
      EXPECT_NE(training.trainer->binding().info().operations[size_t(communication.producer)].lane,
                training.trainer->binding().info().operations[size_t(communication.consumer)].lane);
    }
    EXPECT_EQ(broadcasts, expected.broadcasts);
    EXPECT_EQ(gathers, expected.gathers);
    EXPECT_EQ(reduces, expected.reduces);
    if (broadcasts > 0) EXPECT_GE(arrows, broadcasts - 1 + std::max(gathers, reduces) - 1);
  }
}

TEST(GpuTraining, ALossThatIsNotFiniteLeavesVariablesAsTheyWere) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0", "cuda:0,cpu:0"}) {
    for (const bool in_place : {true, false}) {
      for (const int at : {0, 1, 3}) {
        SCOPED_TRACE(std::string(list) + ", step " + std::to_string(at));
        TrainingOptions options;
        options.in_place = in_place;
        Training training(machine(), list, options, 6);
        ASSERT_TRUE(training.trainer);
        for (int i = 0; i < at; ++i) ASSERT_TRUE(training.trainer->step(Batch(6, i).buffers()));
        const auto w = parameter_values(training.model, 0), row = parameter_values(training.model, 1);
        const auto m = state_values(training.model, *training.trainer, 0);
        Batch bad(6, at);
        bad.x[4] = std::numeric_limits<float>::quiet_NaN();
        auto loss = training.trainer->step(bad.buffers());
        ASSERT_TRUE(loss) << to_string(loss.error());
        EXPECT_TRUE(std::isnan(*loss));
        EXPECT_EQ(*training.trainer->first_not_finite(6, bad.buffers()), "net.fc");
        EXPECT_EQ(parameter_values(training.model, 0), w);
        EXPECT_EQ(parameter_values(training.model, 1), row);
        EXPECT_EQ(state_values(training.model, *training.trainer, 0), m);
        auto next = training.trainer->step(Batch(6, at).buffers());
        ASSERT_TRUE(next) << to_string(next.error());
        EXPECT_TRUE(std::isfinite(*next));
        EXPECT_NE(parameter_values(training.model, 0), w);
      }
    }
  }
}

TEST(GpuTraining, AFailureInAReplicaLeavesVariablesAsTheyWere) {
  TrainingOptions options;
  options.refuse = true;
  for (const char* list : {"cuda:0,cuda:1", "cuda:0,cpu:0", "cpu:0,cuda:0"}) {
    SCOPED_TRACE(list);
    Training training(machine(), list, options, 6);
    ASSERT_TRUE(training.trainer);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(training.trainer->step(Batch(6, i).buffers()));
      const auto w = parameter_values(training.model, 0), row = parameter_values(training.model, 1);
      Batch bad(6, i);
      bad.x[15] = 1000;  // a row of replica 1
      auto loss = training.trainer->step(bad.buffers());
      ASSERT_FALSE(loss);
      EXPECT_THAT(loss.error().message(), HasSubstr("replica 1 on device " + training.devices->name(LaneId(2))));
      EXPECT_THAT(loss.error().message(), HasSubstr("doesn't like what it sees"));
      EXPECT_EQ(parameter_values(training.model, 0), w);
      EXPECT_EQ(parameter_values(training.model, 1), row);
    }
  }
}

TEST(GpuTraining, FaultsSayWhereAndEndTheRun) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    SCOPED_TRACE(list);
    MachineOptions options = machine(false);
    options.driver.violation = nullptr;
    Training training(options, list, {}, 6);
    ASSERT_TRUE(training.trainer);
    ASSERT_TRUE(training.trainer->step(Batch(6).buffers()));
    training.machine.driver().fault(2);
    auto loss = training.trainer->step(Batch(6).buffers());
    ASSERT_FALSE(loss);
    EXPECT_THAT(loss.error().message(), HasSubstr("device cuda:"));
  }
}

}  // namespace
}  // namespace sheaf
