// Steps on virtual GPUs that are started before the one before them is finished.
#include "gpu_training.h"

#include "runtime/bind/binding.h"
#include "sheaf/session.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>

namespace sheaf {
namespace {

using namespace gpu_training;

using sim::Call;
using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// What training leaves behind, bit for bit.
struct Left {
  std::vector<float> losses;
  std::vector<std::vector<float>> variables;
  int64_t steps = 0;
  bool operator==(const Left&) const = default;
};

void leave(Training& training, Left& left) {
  for (const size_t i : {0, 1}) left.variables.push_back(parameter_values(training.model, i));
  left.variables.push_back(state_values(training.model, *training.trainer, 0));
  left.steps = training.trainer->progress().steps;
}

std::vector<Batch> batches_of(const std::vector<int64_t>& rows) {
  std::vector<Batch> batches;
  for (size_t i = 0; i < rows.size(); ++i) batches.emplace_back(rows[i], int(i));
  return batches;
}

std::vector<const void*> next_of(const std::vector<Batch>& batches, size_t step, int ahead) {
  if (ahead == 0 || step + 1 >= batches.size() || batches[step + 1].t.size() != batches[step].t.size()) return {};
  if (ahead == 2 && step % 3 == 1) return {};                       // it isn't there yet
  if (ahead == 2 && step % 3 == 2) return batches[step].buffers();  // another will come
  return batches[step + 1].buffers();
}

Left one_by_one(Training& training, const std::vector<Batch>& batches, int ahead) {
  Left left;
  for (size_t i = 0; i < batches.size(); ++i) {
    auto loss = training.trainer->step_rows(int64_t(batches[i].t.size()), batches[i].buffers(), {}, next_of(batches, i, ahead));
    EXPECT_TRUE(loss) << to_string(loss.error());
    left.losses.push_back(loss ? *loss : 0);
    if (!loss || !std::isfinite(*loss)) break;
  }
  leave(training, left);
  return left;
}

/// Each step is started before the one before it is finished. A batch is gone once its step is finished.
Left a_step_later(Training& training, const std::vector<Batch>& given, int ahead) {
  Left left;
  std::vector<Batch> batches = given;
  Trainer& trainer = *training.trainer;
  size_t finished = 0;
  const auto finish = [&] {
    auto loss = trainer.finish();
    EXPECT_TRUE(loss) << to_string(loss.error());
    left.losses.push_back(loss ? *loss : 0);
    if (ahead == 0) std::ranges::fill(batches[finished].x, -77.0F);
    ++finished;
    return loss && std::isfinite(*loss);
  };
  bool fine = true;
  for (size_t i = 0; fine && i < batches.size(); ++i) {
    auto begun = trainer.start_rows(int64_t(batches[i].t.size()), batches[i].buffers(), {}, next_of(batches, i, ahead));
    EXPECT_TRUE(begun) << to_string(begun.error());
    if (i > 0) fine = finish();
  }
  while (fine && trainer.started() > 0) fine = finish();
  EXPECT_EQ(trainer.started(), 0U);
  EXPECT_FALSE(trainer.finish());
  leave(training, left);
  return left;
}

struct Case {
  const char* list;
  bool collectives = true;
  bool overlaps = true;
};
const Case kCases[] = {{"cuda:0"},
                       {"cuda:0,cuda:1"},
                       {"cuda:0,cuda:1", false},
                       {"cuda:0,cuda:0"},
                       {"cuda:0,cuda:1,cuda:2"},
                       {"cuda:0,cuda:0,cuda:1", false},
                       {"cuda:0,cpu:0", true, false},
                       {"cpu:0,cuda:0", true, false},
                       {"cpu:0", true, false}};

TEST(GpuStepsUnderWay, TheSameBitsOnAllLists) {
  const std::vector<int64_t> small = {7, 7, 7, 7, 2, 7, 7, 7}, large = {9'000, 9'000, 9'000, 9'000, 5'000, 9'000, 9'000, 9'000};
  for (const Case& on : kCases) {
    for (const bool graphs : {true, false}) {
      for (const auto& rows : {small, large}) {
        const auto batches = batches_of(rows);
        for (const int ahead : {0, 1, 2}) {
          SCOPED_TRACE(std::string(on.list) + (on.collectives ? ", collectives" : "") + (graphs ? ", graphs, " : ", ") +
                       std::to_string(rows[0]) + " rows, ahead " + std::to_string(ahead));
          BindOptions bind;
          bind.graphs = graphs;
          Training plain(machine(on.collectives), on.list, {}, rows[0], bind),
              later(machine(on.collectives), on.list, {}, rows[0], bind);
          ASSERT_TRUE(plain.trainer && later.trainer);
          EXPECT_EQ(later.trainer->overlaps(), on.overlaps);
          const Left expected = one_by_one(plain, batches, ahead);
          EXPECT_EQ(expected.steps, 8);
          EXPECT_EQ(a_step_later(later, batches, ahead), expected);
        }
      }
    }
  }
}

TEST(GpuStepsUnderWay, UpdatesInAnyOrderOfReadersAndWriters) {
  const auto batches = batches_of(std::vector<int64_t>(7, 6));
  for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
    for (int variant = 0; variant < 4; ++variant) {
      TrainingOptions options;
      options.in_place = variant != 0;
      options.slow_reader = variant == 1;
      options.reads_after = variant == 2;
      options.swap = variant == 3;
      SCOPED_TRACE(std::string(list) + ", variant " + std::to_string(variant));
      Training plain(machine(), list, options, 6), later(machine(), list, options, 6);
      ASSERT_TRUE(plain.trainer && later.trainer);
      EXPECT_TRUE(later.trainer->overlaps());
      EXPECT_EQ(a_step_later(later, batches, 0), one_by_one(plain, batches, 0));
    }
  }
}

TEST(GpuStepsUnderWay, ALossThatIsNotFiniteInAnyStepLeavesWhatWasBeforeIt) {
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0,cuda:0"}) {
    for (const int64_t rows : {6, 9'000}) {
      for (const bool in_place : {true, false}) {
        for (const size_t at : {0, 1, 3, 5}) {
          SCOPED_TRACE(std::string(list) + ", " + std::to_string(rows) + " rows, step " + std::to_string(at));
          TrainingOptions options;
          options.in_place = in_place;
          auto batches = batches_of(std::vector<int64_t>(6, rows));
          batches[at].x[4] = kNan;
          Training plain(machine(), list, options, rows), later(machine(), list, options, rows);
          ASSERT_TRUE(plain.trainer && later.trainer);
          const int ahead = rows > 6 ? 1 : 0;
          const Left expected = one_by_one(plain, batches, ahead), found = a_step_later(later, batches, ahead);
          ASSERT_EQ(found.losses.size(), at + 1);
          EXPECT_TRUE(std::isnan(found.losses.back()));
          EXPECT_EQ(found.variables, expected.variables);
          EXPECT_EQ(found.steps, int64_t(at));
          EXPECT_EQ(*later.trainer->first_not_finite(rows, batches[at].buffers()), "net.fc");
          // It goes on as if neither that step nor the one after it had been.
          const auto more = batches_of(std::vector<int64_t>(4, rows));
          EXPECT_EQ(a_step_later(later, more, ahead), one_by_one(plain, more, ahead));
        }
      }
    }
  }
}

/// Only the later of two has failed, which mustn't be taken for the earlier one's failure.
TEST(GpuStepsUnderWay, AFailureBelongsToItsOwnStep) {
  for (const bool refused : {true, false}) {
    for (const bool graphs : {true, false}) {
      for (int good = 1; good < 5; ++good) {
        SCOPED_TRACE(std::to_string(good) + (refused ? ", refused" : ""));
        TrainingOptions options;
        options.refuse = true;
        BindOptions bind;
        bind.graphs = graphs;
        Training training(machine(), "cuda:0", options, 6, bind), plain(machine(), "cuda:0", options, 6, bind);
        ASSERT_TRUE(training.trainer && plain.trainer && training.trainer->overlaps());
        for (int i = 0; i < good - 1; ++i) {
          ASSERT_TRUE(training.trainer->start_rows(6, Batch(6, i).buffers()));
          ASSERT_TRUE(training.trainer->finish());
        }
        const Batch fine(6, good - 1);
        Batch bad(6, good);
        bad.x[15] = refused ? 1000 : kNan;
        ASSERT_TRUE(training.trainer->start_rows(6, fine.buffers()));
        ASSERT_TRUE(training.trainer->start_rows(6, bad.buffers()));
        const auto m = state_values(training.model, *training.trainer, 0);  // waits for both
        auto first = training.trainer->finish();
        ASSERT_TRUE(first) << to_string(first.error());
        EXPECT_TRUE(std::isfinite(*first));
        auto second = training.trainer->finish();
        if (refused) {
          ASSERT_FALSE(second);
          EXPECT_THAT(second.error().message(), HasSubstr("doesn't like what it sees"));
        } else {
          EXPECT_TRUE(second && std::isnan(*second));
        }
        EXPECT_EQ(training.trainer->progress().steps, good);
        for (int i = 0; i < good; ++i) ASSERT_TRUE(plain.trainer->step(Batch(6, i).buffers()));
        EXPECT_EQ(parameter_values(training.model, 0), parameter_values(plain.model, 0));
        EXPECT_EQ(state_values(training.model, *training.trainer, 0), m);
        // The flag that it raised is down again for the next.
        ASSERT_TRUE(training.trainer->start_rows(6, fine.buffers()));
        ASSERT_TRUE(training.trainer->finish());
        EXPECT_NE(parameter_values(training.model, 0), parameter_values(plain.model, 0));
      }
    }
  }
}

/// On the device's clock a step begins when the one before it ends: the host has handed it over by then.
TEST(GpuStepsUnderWay, AStepBeginsWhenTheOneBeforeItEnds) {
  const auto batches = batches_of(std::vector<int64_t>(6, 6));
  const auto gaps = [&](const char* list, bool later, bool graphs) {
    sim::MachineOptions options = machine();
    options.driver.seconds = [](const std::string& what) { return what.starts_with("copy of") ? 0 : 1e-3; };
    options.driver.seconds_per_question = 1e-4;
    BindOptions bind;
    bind.graphs = graphs;
    Training training(options, list, {}, 6, bind);
    EXPECT_TRUE(training.trainer);
    later ? a_step_later(training, batches, 0) : one_by_one(training, batches, 0);
    size_t stream = 0;  // the first GPU's
    for (const sim::Timed& timed : training.machine.driver().history())
      if (timed.name == "layer 'new_w', operation layer") stream = timed.stream;
    std::vector<double> idle;  // before each step's first operation
    double end = -1;
    for (const sim::Timed& timed : training.machine.driver().history()) {
      if (timed.stream != stream || timed.begin == timed.end) continue;
      if (timed.name == "layer 'rows', operation layer" && end >= 0) idle.push_back(timed.begin - end);
      end = timed.end;
    }
    EXPECT_GE(idle.size(), 5U);
    return std::vector(idle.end() - 3, idle.end());  // graphs are replayed by then
  };
  for (const bool graphs : {true, false}) {
    for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
      SCOPED_TRACE(std::string(list) + (graphs ? ", graphs" : ""));
      const auto waiting = gaps(list, false, graphs), going_on = gaps(list, true, graphs);
      for (const size_t i : {0, 1, 2}) {
        if (std::string_view(list) == "cuda:0") EXPECT_GT(waiting[i], 5e-5) << "the host asks first";
        EXPECT_LT(going_on[i], 1e-9);
      }
    }
  }
}

TEST(GpuStepsUnderWay, ASmallStepIsAGraphLaunchAndAnEvent) {
  Training training(machine(), "cuda:0", {}, 4);
  ASSERT_TRUE(training.trainer);
  Trainer& trainer = *training.trainer;
  const Batch batch(4);
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(trainer.start_rows(4, batch.buffers()));
    if (i > 0) ASSERT_TRUE(trainer.finish());
  }
  sim::SimDriver& driver = training.machine.driver();
  const auto counts = [&] {
    std::map<std::string, int64_t> all;
    for (int call = 0; call < static_cast<int>(Call::count); ++call)
      all[std::string(sim::name_of(static_cast<Call>(call)))] = driver.calls(static_cast<Call>(call));
    return all;
  };
  const auto before = counts();
  ASSERT_TRUE(trainer.start_rows(4, batch.buffers()));
  auto after = counts();
  ASSERT_TRUE(trainer.finish());
  for (auto& [name, count] : after) count -= before.at(name);
  for (const auto& [name, count] : after) {
    if (name == sim::name_of(Call::record)) EXPECT_TRUE(count == 1 || count == 2) << "its end, and a mark every eighth time";
    else EXPECT_EQ(count, name == sim::name_of(Call::launch_graph)) << name;
  }
}

TEST(GpuStepsUnderWay, WhoUsesTheModelWaitsForThem) {
  const auto batches = batches_of(std::vector<int64_t>(3, 6));
  const Batch rest(2, 9);
  for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
    SCOPED_TRACE(list);
    Training training(machine(), list, {}, 6), plain(machine(), list, {}, 6);
    ASSERT_TRUE(training.trainer && plain.trainer);
    for (Training* one : {&training, &plain}) ASSERT_TRUE(one->trainer->step(batches[0].buffers()));
    std::vector<float> expected;
    for (const Batch* batch : {&batches[1], &batches[2], &rest})
      expected.push_back(*plain.trainer->step_rows(int64_t(batch->t.size()), batch->buffers()));
    Trainer& trainer = *training.trainer;
    ASSERT_TRUE(trainer.start_rows(6, batches[1].buffers()));
    ASSERT_TRUE(trainer.start_rows(6, batches[2].buffers()));
    EXPECT_EQ(trainer.progress().steps, 3);
    const auto third = trainer.start_rows(2, rest.buffers());
    ASSERT_FALSE(third);
    EXPECT_THAT(third.error().message(), HasSubstr("a third step comes after steps that were started"));
    EXPECT_THAT(trainer.step(rest.buffers()).error().message(), HasSubstr("call finish() for each of the 2 first"));
    EXPECT_FALSE(trainer.save("/nowhere"));
    EXPECT_FALSE(trainer.restore("/nowhere"));
    EXPECT_FALSE(trainer.first_not_finite(2, rest.buffers()));
    // Another binding's, in the same arena.
    auto other = Trainer::bind(training.model, training.devices, 4);
    ASSERT_TRUE(other);
    EXPECT_TRUE(other->start_rows(4, Batch(4).buffers()));
    EXPECT_TRUE(other->finish());
    for (size_t i = 0; i < 2; ++i) EXPECT_EQ(*trainer.finish(), expected[i]);
  }
  // Steps of other rows, and the parameters in between.
  Training training(machine(), "cuda:0", {}, 6), plain(machine(), "cuda:0", {}, 6);
  ASSERT_TRUE(training.trainer && plain.trainer);
  Trainer& trainer = *training.trainer;
  ASSERT_TRUE(trainer.start_rows(6, batches[0].buffers()));
  ASSERT_TRUE(trainer.start_rows(2, rest.buffers()));
  ASSERT_TRUE(trainer.prepare(3));
  std::vector<float> expected = {*plain.trainer->step_rows(6, batches[0].buffers()),
                                 *plain.trainer->step_rows(2, rest.buffers())};
  EXPECT_EQ(parameter_values(training.model, 0), parameter_values(plain.model, 0));
  EXPECT_EQ(*trainer.finish(), expected[0]);
  EXPECT_EQ(*trainer.finish(), expected[1]);
}

/// What was found out by the way, while another size was bound, counts as what finish() finds.
TEST(GpuStepsUnderWay, AStepAfterOneKnownToHaveFailedIsForgotten) {
  const Batch fine(6, 1);
  Batch bad(6);
  bad.x[4] = kNan;
  for (const char* list : {"cuda:0", "cuda:0,cuda:1", "cpu:0"}) {
    SCOPED_TRACE(list);
    Training training(machine(), list, {}, 6), plain(machine(), list, {}, 6);
    ASSERT_TRUE(training.trainer && plain.trainer);
    Trainer& trainer = *training.trainer;
    const auto before = parameter_values(training.model, 0);
    ASSERT_TRUE(trainer.start_rows(6, bad.buffers()));
    ASSERT_TRUE(trainer.prepare(3));
    ASSERT_TRUE(trainer.start_rows(6, fine.buffers()));
    auto loss = trainer.finish();
    EXPECT_TRUE(loss && std::isnan(*loss));
    EXPECT_EQ(trainer.started(), 0U);
    EXPECT_EQ(trainer.progress().steps, 0);
    EXPECT_EQ(parameter_values(training.model, 0), before);
    const auto more = batches_of({6, 6, 6});
    EXPECT_EQ(a_step_later(training, more, 0), one_by_one(plain, more, 0));
  }
}

TEST(GpuStepsUnderWay, WhatIsBoundMeanwhileTakesNoBindingFromThem) {
  const std::vector<Batch> batches = batches_of({2, 9, 9});
  Training training(machine(), "cuda:0", {}, 12), plain(machine(), "cuda:0", {}, 12);
  ASSERT_TRUE(training.trainer && plain.trainer);
  Trainer& trainer = *training.trainer;
  ASSERT_TRUE(trainer.start_rows(2, batches[0].buffers()));
  for (int64_t rows = 3; rows < 12; ++rows) {  // more than are kept
    const Batch batch(rows);
    const TensorView values[] = {{"", DType::float32, {rows, 3}, batch.x.data()}, {"", DType::float32, {rows}, batch.t.data()}};
    auto refused = trainer.step(values);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(), HasSubstr("call finish() for each of the 1 first"));
  }
  EXPECT_EQ(*trainer.finish(), *plain.trainer->step_rows(2, batches[0].buffers()));
  ASSERT_TRUE(trainer.start_rows(9, batches[1].buffers()));
  ASSERT_TRUE(trainer.start_rows(9, batches[2].buffers()));
  for (const size_t i : {1, 2}) EXPECT_EQ(*trainer.finish(), *plain.trainer->step_rows(9, batches[i].buffers()));
  EXPECT_EQ(parameter_values(training.model, 0), parameter_values(plain.model, 0));
}

TEST(GpuStepsUnderWay, ADestroyedTrainerHasFinishedThem) {
  const auto batches = batches_of(std::vector<int64_t>(4, 6));
  for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
    for (const size_t started : {1, 2}) {
      Training training(machine(), list, {}, 6), plain(machine(), list, {}, 6);
      ASSERT_TRUE(training.trainer && plain.trainer);
      for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(training.trainer->step(batches[i].buffers()));
      for (size_t i = 0; i < started; ++i) ASSERT_TRUE(training.trainer->start_rows(6, batches[2 + i].buffers()));
      training.trainer.reset();
      for (size_t i = 0; i < 2 + started; ++i) ASSERT_TRUE(plain.trainer->step(batches[i].buffers()));
      EXPECT_EQ(parameter_values(training.model, 0), parameter_values(plain.model, 0));
    }
  }
}

/// At whichever call a device is lost, both steps end, and nobody waits.
TEST(GpuStepsUnderWay, ALostDeviceEndsBoth) {
  const auto batches = batches_of(std::vector<int64_t>(3, 6));
  for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
    const int devices = std::string_view(list) == "cuda:0" ? 1 : 2;
    for (int device = 0; device < devices; ++device) {
      for (const bool graphs : {true, false}) {
        int failed = 0, n = 1;
        for (bool survived = false; !survived && n < 200; ++n) {
          SCOPED_TRACE(std::string(list) + ", device " + std::to_string(device) + ", call " + std::to_string(n));
          sim::MachineOptions options = machine();
          options.driver.violation = nullptr;
          BindOptions bind;
          bind.graphs = graphs;
          bind.deadline_seconds = 20;
          Training training(options, list, {}, 6, bind);
          ASSERT_TRUE(training.trainer);
          Trainer& trainer = *training.trainer;
          for (int i = 0; i < 3; ++i) ASSERT_TRUE(trainer.step(batches[0].buffers()));
          training.machine.driver().lose(device, n);
          const auto begin = std::chrono::steady_clock::now();
          survived = true;
          for (const size_t i : {1, 2}) survived &= bool(trainer.start_rows(6, batches[i].buffers()));
          while (trainer.started() > 0) {
            auto loss = trainer.finish();
            survived &= bool(loss);
            if (!loss) {
              EXPECT_THAT(loss.error().message(), HasSubstr("cuda:" + std::to_string(device)));
              EXPECT_EQ(trainer.started(), 0U);
            }
          }
          EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
          failed += !survived;
        }
        EXPECT_GT(failed, 2);
        EXPECT_LT(n, 200);
      }
    }
  }
}

TEST(GpuStepsUnderWay, ADeadlineEndsBoth) {
  const auto batches = batches_of(std::vector<int64_t>(3, 6));
  for (const char* list : {"cuda:0", "cuda:0,cuda:1"}) {
    for (const int64_t n : {1, 5, 12}) {
      SCOPED_TRACE(std::string(list) + ", " + std::to_string(n));
      sim::MachineOptions options = machine();
      options.driver.violation = nullptr;
      BindOptions bind;
      bind.graphs = false;
      bind.deadline_seconds = 0.2;
      Training training(options, list, {}, 6, bind);
      ASSERT_TRUE(training.trainer);
      Trainer& trainer = *training.trainer;
      for (int i = 0; i < 2; ++i) ASSERT_TRUE(trainer.step(batches[0].buffers()));
      training.machine.driver().hang(n);
      for (const size_t i : {1, 2}) ASSERT_TRUE(trainer.start_rows(6, batches[i].buffers()));
      const auto begin = std::chrono::steady_clock::now();
      Result<float> loss = 0.0F;
      while (loss && trainer.started() > 0) loss = trainer.finish();
      ASSERT_FALSE(loss);
      EXPECT_THAT(to_string(loss.error()), HasSubstr("was not done after 0.2 seconds without any progress"));
      EXPECT_EQ(trainer.started(), 0U);
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    }
  }
}

}  // namespace
}  // namespace sheaf
