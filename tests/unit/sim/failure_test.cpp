// Calls that fail, kernels that never end, devices that are lost: a run ends with an error that says where, nothing hangs or
// leaks, and variables hold their old values or the step's new ones.
#include "tests/sim/strict_machine.h"
#include "tests/fixtures/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace sheaf {
namespace {

using sim::Call;
using sim::SimMachine;
using ::testing::AnyOf;
using ::testing::Eq;
using ::testing::HasSubstr;

constexpr int64_t kRows = 6;

struct Batch {
  std::vector<float> x = std::vector<float>(kRows * 3, 0.5F), t = std::vector<float>(kRows, 1.F);
  std::vector<const void*> buffers() const { return {x.data(), t.data()}; }
};

std::vector<float> all_values(const Model& model) {
  std::vector<float> values;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    std::vector<float> one(3, -77.F);
    if (!model.read_parameter(i, std::as_writable_bytes(std::span(one)))) return {};  // its device is gone
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

/// For a test that waits in vain.
BindOptions impatient(double seconds) {
  BindOptions options;
  options.deadline_seconds = seconds;
  return options;
}

/// `arrange` injects the failure before anything is bound; true if it occurred.
template <typename Arrange>
bool fails_well(const std::string& list, const std::string& reason, bool collectives, double deadline, Arrange&& arrange,
                bool answers = true) {
  sim::MachineOptions options = sim::strict(7, std::make_shared<TrainingDevice>());
  options.collectives = collectives;
  // If the driver doesn't answer, nobody can know what is done: memory is released while work may still be under way.
  if (!answers) options.driver.violation = [](const std::string&) {};
  options.driver.memory_bytes = int64_t{4} << 20;
  SimMachine machine(options);
  arrange(machine.driver());
  const Model model = training_model();
  auto trainer = Trainer::bind(model, machine.list(list), kRows, impatient(deadline));
  if (!trainer) {
    EXPECT_THAT(to_string(trainer.error()), HasSubstr(reason));
    return true;
  }
  trainer->progress().lr = 0.01;
  for (int step = 0; step < 4; ++step) {
    const auto before = all_values(model);
    auto loss = trainer->step(Batch().buffers());
    if (loss) continue;
    const std::string text = to_string(loss.error());
    // (A failure that shows only when its queue is asked is found late if that lane waits for a member that waits for it.)
    if (!collectives || text.find("without any progress") == std::string::npos) EXPECT_THAT(text, HasSubstr(reason));
    EXPECT_THAT(text, HasSubstr("cuda:"));
    const auto after = all_values(model);
    for (size_t i = 0; i < after.size() && i < before.size(); ++i) {
      EXPECT_TRUE(after[i] == before[i] || std::abs(after[i] - before[i]) < 1.F)
          << "variable is " << after[i] << ", was " << before[i];
    }
    return true;
  }
  return false;
}

class EveryCall : public ::testing::TestWithParam<Call> {};

TEST_P(EveryCall, FailsWithAnError) {
  const Call call = GetParam();
  constexpr double kSeconds = 0.5;  // if one member of a collective fails, the others wait in vain
  int failed = 0;
  for (const bool collectives : {false, true}) {
    if (call == Call::collective && !collectives) continue;
    const char* list = collectives ? "cuda:0,cuda:1" : "cuda:0,cuda:1,cpu:0";
    // (If a queue cannot record an event for its report of a wait in vain, it does without.)
    for (int64_t n = 1, well = 0; well < 3; n += 1 + n / 3) {
      SCOPED_TRACE(std::string(list) + ", " + std::string(name_of(call)) + " number " + std::to_string(n));
      const bool fails = fails_well(
          list, "injected", collectives, kSeconds, [&](sim::SimDriver& driver) { driver.fail(call, n, "injected"); },
          call != Call::query);
      well += !fails;
      failed += fails;
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(failed, 0) << "it isn't called at all";
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryCall,
                         ::testing::Values(Call::allocate, Call::allocate_pinned, Call::make_stream, Call::make_event,
                                           Call::load, Call::function, Call::record, Call::wait, Call::query, Call::copy,
                                           Call::fill, Call::host_function, Call::collective),
                         [](const auto& info) {
                           return std::string(name_of(info.param)).substr(0, 4) + std::to_string(int(info.param));
                         });

TEST(Failures, ADeviceThatIsLostAtAnyCall) {
  for (const int device : {0, 1}) {
    bool failed = true;
    for (int64_t n = 1; failed; n += 1 + n / 2) {
      SCOPED_TRACE("cuda:" + std::to_string(device) + ", at call " + std::to_string(n));
      failed = fails_well("cuda:0,cuda:1", "", false, 1, [&](sim::SimDriver& driver) { driver.lose(device, n); });
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Failures, RecordingThatFailsIsAnErrorOrDoneWithout) {
  for (const Call call : {Call::begin_capture, Call::end_capture, Call::launch_graph}) {
    SCOPED_TRACE(name_of(call));
    fails_well("cuda:0", "injected", false, kDeadline.count(),
               [&](sim::SimDriver& driver) { driver.fail(call, 1, "injected"); });
  }
}

TEST(Failures, AKernelThatNeverEndsIsReportedAfterTheDeadline) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    SCOPED_TRACE(list);
    SimMachine machine(sim::strict(3, std::make_shared<TrainingDevice>()));
    const Model model = training_model();
    auto trainer = Trainer::bind(model, machine.list(list), kRows, impatient(0.3));
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    ASSERT_TRUE(trainer->step(Batch().buffers()));
    machine.driver().hang(2);
    const auto begin = std::chrono::steady_clock::now();
    auto loss = trainer->step(Batch().buffers());
    ASSERT_FALSE(loss);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    const std::string text = to_string(loss.error());
    EXPECT_THAT(text, HasSubstr("cuda:0"));
    EXPECT_THAT(text, HasSubstr("operation"));
    EXPECT_FALSE(trainer->step(Batch().buffers())) << "nobody waits for it again";
  }
}

}  // namespace
}  // namespace sheaf
