// Steps of `sheaf bench` on virtual GPUs.
#include "tests/fixtures/training_run.h"
#include "tests/sim/strict_machine.h"
#include "tools/bench/measure.h"

#include "sheaf/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace sheaf {
namespace {

using sim::SimMachine;
using ::testing::HasSubstr;

/// A step takes some milliseconds on the devices' clocks; the host's goes on when it asks for something.
sim::MachineOptions timed_machine() {
  sim::MachineOptions options = sim::strict(1, std::make_shared<TrainingDevice>());
  options.driver.seconds = [](const std::string& what) { return what.starts_with("copy of") ? 0 : 1e-3; };
  options.driver.seconds_per_question = 1e-4;
  return options;
}

Result<MeasuredProgram> training(SimMachine& machine, const Model& model, const char* devices, bool graphs = true) {
  MeasuredProgramRequest request;
  request.train = true;
  request.batch = 6;
  request.options.graphs = graphs;
  return MeasuredProgram::bind(model, machine.list(devices), request);
}

/// How long the first GPU had nothing to do before each step but the first.
std::vector<double> idle(SimMachine& machine) {
  const auto history = machine.driver().history();
  size_t stream = 0;
  for (const sim::Timed& timed : history)
    if (timed.name == "layer 'new_w', operation layer") stream = timed.stream;
  std::vector<double> found;
  double end = -1;
  for (const sim::Timed& timed : history) {
    if (timed.stream != stream || timed.begin == timed.end) continue;
    if (timed.name == "layer 'rows', operation layer" && end >= 0) found.push_back(timed.begin - end);
    end = timed.end;
  }
  return found;
}

TEST(MeasuredSteps, FollowEachOtherWithoutAWait) {
  constexpr int64_t kWarmUp = 3, kSteps = 6;
  for (const char* devices : {"cuda:0", "cuda:0,cuda:1"}) {
    for (const bool graphs : {true, false}) {
      SCOPED_TRACE(std::string(devices) + (graphs ? ", graphs" : ""));
      SimMachine machine(timed_machine());
      const Model model = training_model();
      const auto before = parameter_values(model, 0);
      auto program = training(machine, model, devices, graphs);
      ASSERT_TRUE(program) << to_string(program.error());
      EXPECT_TRUE(program->overlaps());
      auto found = measure(*program, {kSteps, kWarmUp});
      ASSERT_TRUE(found) << to_string(found.error());
      EXPECT_EQ(found->step.count, size_t(kSteps));
      EXPECT_EQ(found->warm_up, kWarmUp);
      const auto gaps = idle(machine);
      // The step that is under way when the first timing begins, and one for each timing.
      ASSERT_GE(gaps.size(), size_t(kSteps));
      for (size_t i = gaps.size() - kSteps; i < gaps.size(); ++i) EXPECT_LT(gaps[i], 1e-9) << i;
      EXPECT_TRUE(program->finish()) << "nothing is under way";
      EXPECT_EQ(parameter_values(model, 0), before) << "the learning rate is 0";
    }
  }
}

TEST(MeasuredSteps, ThatAreTracedEndBeforeTheNext) {
  SimMachine machine(timed_machine());
  const Model model = training_model();
  auto program = training(machine, model, "cuda:0");
  ASSERT_TRUE(program) << to_string(program.error());
  ASSERT_TRUE(program->run());
  const auto trace = std::make_shared<Trace>();
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(program->run(trace));
  EXPECT_TRUE(program->finish());
  const auto gaps = idle(machine);
  ASSERT_GE(gaps.size(), 3U);
  for (size_t i = gaps.size() - 3; i < gaps.size(); ++i) EXPECT_GT(gaps[i], 5e-5) << i;
}

TEST(MeasuredSteps, OfListsWithACpuEndAtOnce) {
  SimMachine machine(timed_machine());
  const Model model = training_model();
  auto program = training(machine, model, "cuda:0,cpu:0");
  ASSERT_TRUE(program) << to_string(program.error());
  EXPECT_FALSE(program->overlaps());
  EXPECT_TRUE(measure(*program, {3, 1}));
}

TEST(MeasuredSteps, ALossThatIsNotFiniteIsAnError) {
  for (const char* devices : {"cuda:0", "cpu:0"}) {
    SCOPED_TRACE(devices);
    SimMachine machine(timed_machine());
    Model model = training_model();
    const std::vector<float> nans(16, std::numeric_limits<float>::quiet_NaN()), zeros(16);
    std::vector<TensorView> tensors;
    for (const ParameterInfo& parameter : model.parameters())
      tensors.push_back({parameter.name, parameter.dtype, parameter.shape, parameter.name == "w" ? nans.data() : zeros.data()});
    ASSERT_TRUE(model.set_parameters(tensors));
    auto program = training(machine, model, devices);
    ASSERT_TRUE(program) << to_string(program.error());
    auto found = measure(*program, {3, 1});
    ASSERT_FALSE(found);
    EXPECT_THAT(found.error().message(), HasSubstr("the loss isn't finite, first in layer 'net.fc'"));
  }
}

}  // namespace
}  // namespace sheaf
