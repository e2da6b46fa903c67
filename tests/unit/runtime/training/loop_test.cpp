// The loop with a fake step: steps, epochs, evaluation, stopping, and resuming bit for bit.
#include "runtime/training/checkpoint_folder.h"
#include "tools/train/stop_signals.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

namespace sheaf::training_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LoopSettings settings_of(int64_t steps, int64_t batch = 4) {
  LoopSettings settings;
  settings.batch_size = batch;
  settings.steps = steps;
  settings.seed = 3;
  return settings;
}

/// Batches of four and a last one of two: the step before has the next one where both have as many rows and it is ready, which is
/// soon so if steps take time.
TEST(Loop, GivesAStepTheNextBatchToo) {
  const Dataset data = numbered_rows(10);
  FakeLearner learner;
  LoopState state;
  LoopHooks hooks = no_hooks();
  hooks.step = [&](const StepRecord&) { return std::this_thread::sleep_for(std::chrono::milliseconds(5)), Result<void>(); };
  ASSERT_TRUE(train(learner, data, settings_of(30), hooks, state));
  EXPECT_GT(learner.came_ahead, 0);
  EXPECT_LE(learner.came_ahead, 10) << "one of each epoch's three";
}

/// A step's successor is started before its loss is asked for: the same losses, records and weights, whatever happens in between.
TEST(Loop, ALossIsReadAStepLaterWithTheSameBits) {
  const Dataset data = numbered_rows(10);
  struct Told {
    std::vector<double> losses, rates;
    std::vector<int64_t> steps, saved, epochs;
    float weight = 0;
    bool operator==(const Told&) const = default;
  };
  for (const int64_t every : {0, 2, 3}) {
    for (const int64_t batch : {2, 4, 10}) {
      SCOPED_TRACE(std::to_string(every) + ", " + std::to_string(batch));
      Told told[2];
      for (const bool overlapping : {false, true}) {
        FakeLearner learner;
        learner.overlapping = overlapping;
        Told& one = told[overlapping];
        LoopState state;
        LoopHooks hooks = no_hooks();
        hooks.step = [&](const StepRecord& record) {
          one.losses.push_back(record.loss);
          one.rates.push_back(record.lr);
          one.steps.push_back(record.step);
          EXPECT_EQ(state.step, record.step);
          return Result<void>();
        };
        hooks.epoch = [&](const EpochRecord& record) {
          EXPECT_EQ(learner.progress().steps, state.step) << "all is done at an epoch's end";
          return one.epochs.push_back(record.steps), Result<void>();
        };
        hooks.save = [&](const LoopState& now) {
          EXPECT_EQ(learner.progress().steps, now.step) << "all that is saved is done";
          return one.saved.push_back(now.step), Result<void>();
        };
        LoopSettings settings = settings_of(17, batch);
        settings.checkpoint_every = every;
        settings.saving_allowance_seconds = 100;
        ASSERT_TRUE(train(learner, data, settings, hooks, state));
        one.weight = learner.weight;
        EXPECT_EQ(learner.most_started, overlapping && batch < 10 ? 2U : 1U) << "a whole epoch in a batch ends with each step";
      }
      EXPECT_EQ(told[0], told[1]);
    }
  }
}

TEST(Loop, ALossThatIsNotFiniteEndsWithItsOwnStepAndBatch) {
  const Dataset data = numbered_rows(12);
  for (const int64_t at : {1, 2, 3, 5, 9}) {
    SCOPED_TRACE(at);
    float weights[2], rows[2];
    for (const bool overlapping : {false, true}) {
      FakeLearner learner;
      learner.overlapping = overlapping;
      learner.nan_at = at;
      LoopState state;
      int64_t told = 0;
      LoopHooks hooks = no_hooks();
      hooks.step = [&](const StepRecord& record) { return told = record.step, Result<void>(); };
      const auto end = train(learner, data, settings_of(9), hooks, state);
      ASSERT_FALSE(end);
      EXPECT_THAT(end.error().message(), HasSubstr("the loss of step " + std::to_string(at) + " "));
      EXPECT_EQ(state.step, at - 1);
      EXPECT_EQ(learner.progress().steps, at - 1);
      EXPECT_EQ(told, at);
      weights[overlapping] = learner.weight;
      rows[overlapping] = learner.not_finite_row;
    }
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_EQ(rows[0], rows[1]) << "the failed step's batch is searched";
  }
}

TEST(Loop, AStepUnderWayIsFinishedWhereItIsStopped) {
  const Dataset data = numbered_rows(40);
  for (const int64_t after : {1, 2, 5}) {
    FakeLearner learner;
    learner.overlapping = true;
    LoopState state;
    int64_t told = 0, saved = 0;
    LoopHooks hooks = no_hooks();
    hooks.step = [&](const StepRecord& record) { return told = record.step, Result<void>(); };
    hooks.stopped = [&] { return told >= after; };
    hooks.save = [&](const LoopState& now) { return saved = now.step, Result<void>(); };
    const auto end = train(learner, data, settings_of(9), hooks, state);
    ASSERT_TRUE(end);
    EXPECT_EQ(*end, Ending::stopped);
    EXPECT_EQ(told, after + 1) << "the one that was under way too";
    EXPECT_EQ(saved, after + 1);
    EXPECT_EQ(learner.progress().steps, after + 1);
  }
}

TEST(Loop, AfterAHooksErrorTheStateCountsTheStepUnderWay) {
  const Dataset data = numbered_rows(40);
  FakeLearner learner;
  learner.overlapping = true;
  LoopState state;
  LoopHooks hooks = no_hooks();
  hooks.step = [](const StepRecord& record) { return record.step == 3 ? Result<void>(Error("full disk")) : Result<void>(); };
  ASSERT_FALSE(train(learner, data, settings_of(9), hooks, state));
  EXPECT_EQ(state.step, 4);
  EXPECT_EQ(learner.progress().steps, 4);
}

TEST(Loop, CountsStepsEpochsAndRows) {
  const Dataset data = numbered_rows(10);
  FakeLearner learner;
  LoopState state;
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
  LoopHooks hooks = no_hooks();
  hooks.step = [&](const StepRecord& record) { return steps.push_back(record), Result<void>(); };
  hooks.epoch = [&](const EpochRecord& record) { return epochs.push_back(record), Result<void>(); };
  int evaluations = 0;
  hooks.evaluate = [&]() -> Result<std::optional<Evaluation>> {
    ++evaluations;
    return std::optional<Evaluation>(Evaluation{{}, {{Metric::accuracy, 0.5}}, 10, 0});
  };
  const auto end = train(learner, data, settings_of(7), hooks, state);
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, Ending::finished);
  EXPECT_THAT(learner.row_counts, ElementsAre(4, 4, 2, 4, 4, 2, 4));
  EXPECT_EQ(learner.progress().steps, 7);
  EXPECT_EQ(learner.progress().epochs, 2);
  // The schedule counts epochs.
  EXPECT_THAT(learner.rates, ElementsAre(.125, .125, .125, .0625, .0625, .0625, .03125));
  ASSERT_EQ(steps.size(), 7U);
  EXPECT_EQ(steps[3].step, 4);
  EXPECT_EQ(steps[3].epoch, 2);
  EXPECT_EQ(steps[3].lr, .0625);
  ASSERT_EQ(epochs.size(), 3U);
  EXPECT_TRUE(epochs[1].complete);
  EXPECT_FALSE(epochs[2].complete);
  EXPECT_EQ(epochs[2].steps, 1);
  EXPECT_EQ(epochs[0].rows, 10);
  EXPECT_EQ(epochs[0].lr, .125);
  EXPECT_DOUBLE_EQ(epochs[0].train_loss, (steps[0].loss * 4 + steps[1].loss * 4 + steps[2].loss * 2) / 10);
  EXPECT_EQ(evaluations, 3);
  EXPECT_EQ(state.epochs.records().size(), 2U) << "an epoch that isn't complete isn't done";
  EXPECT_EQ(state.position, 1);
}

TEST(Loop, LossThatIsNotFinite) {
  const Dataset data = numbered_rows(10);
  FakeLearner learner;
  learner.nan_at = 5;
  LoopState state;
  int saves = 0, steps = 0;
  LoopHooks hooks = no_hooks();
  hooks.save = [&](const LoopState&) { return ++saves, Result<void>(); };
  hooks.step = [&](const StepRecord&) { return ++steps, Result<void>(); };
  const auto end = train(learner, data, settings_of(9), hooks, state);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message(), testing::AllOf(HasSubstr("step 5 (epoch 2)"), HasSubstr("nan"), HasSubstr("'net.conv1'")));
  EXPECT_EQ(state.step, 4);
  EXPECT_EQ(saves, 1) << "of the first epoch's end; never of a state with a loss that isn't finite";
  EXPECT_EQ(steps, 5) << "the metrics show the step that failed";
}

TEST(Loop, ErrorsOfTheHooksEndIt) {
  const Dataset data = numbered_rows(10);
  for (int which = 0; which < 4; ++which) {
    FakeLearner learner;
    LoopState state;
    LoopHooks hooks = no_hooks();
    const Error error("full disk");
    if (which == 0) hooks.step = [&](const StepRecord&) -> Result<void> { return error; };
    if (which == 1) hooks.epoch = [&](const EpochRecord&) -> Result<void> { return error; };
    if (which == 2) hooks.save = [&](const LoopState&) -> Result<void> { return error; };
    if (which == 3) hooks.evaluate = [&]() -> Result<std::optional<Evaluation>> { return error; };
    const auto end = train(learner, data, settings_of(20), hooks, state);
    ASSERT_FALSE(end) << which;
    EXPECT_EQ(end.error().message(), "full disk");
    EXPECT_LE(state.step, 3);
  }
}

TEST(Loop, SavesWhenDue) {
  const Dataset data = numbered_rows(20);  // five steps an epoch
  FakeLearner learner;
  LoopState state;
  std::vector<int64_t> saved;
  LoopHooks hooks = no_hooks();
  hooks.save = [&](const LoopState& now) { return saved.push_back(now.step), Result<void>(); };
  LoopSettings settings = settings_of(13);
  settings.checkpoint_every = 2;
  ASSERT_TRUE(train(learner, data, settings, hooks, state));
  EXPECT_THAT(saved, ElementsAre(2, 4, 5, 6, 8, 10, 12, 13));
}

TEST(Loop, SavesOfEpochsArePassedOverWhereTheyTakeLongerThanTraining) {
  const Dataset data = numbered_rows(4);  // a step an epoch
  for (const bool allowed : {true, false}) {
    FakeLearner learner;
    LoopState state;
    std::vector<int64_t> saved;
    LoopHooks hooks = no_hooks();
    hooks.save = [&](const LoopState& now) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      return saved.push_back(now.step), Result<void>();
    };
    LoopSettings settings = settings_of(200);
    settings.saving_allowance_seconds = allowed ? 1000 : 0;
    ASSERT_TRUE(train(learner, data, settings, hooks, state));
    if (allowed) {
      EXPECT_EQ(saved.size(), 200u);
    } else {
      EXPECT_LT(saved.size(), 200u);
    }
    EXPECT_EQ(saved.front(), 1);
    EXPECT_EQ(saved.back(), 200) << "the end is always saved";
  }
}

TEST(EpochHistory, IsBoundedAndSpreadEvenly) {
  EpochHistory history;
  for (int64_t epoch = 1; epoch <= 5000; ++epoch) {
    EpochRecord record;
    record.epoch = epoch;
    record.seconds = 1;
    history.add(record);
    const auto& records = history.records();
    ASSERT_LE(records.size(), EpochHistory::kMostRecords + 1);
    ASSERT_EQ(records.front().epoch, 1);
    ASSERT_EQ(records.back().epoch, epoch);
    EpochHistory restored;
    ASSERT_TRUE(
        EpochHistory::restore(restored, records, epoch, history.stride(), history.seconds(), history.data_wait_seconds()))
        << epoch;
    for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(restored.records()[i].epoch, records[i].epoch);
    EXPECT_FALSE(EpochHistory::restore(restored, records, epoch + history.stride(), history.stride(), 0, 0));
  }
  EXPECT_GE(history.records().size(), EpochHistory::kMostRecords / 2);
  EXPECT_EQ(history.seconds(), 5000);
}

/// A run that saves its checkpoint to a folder; the step that `stop_after` names may stop it.
class Resumes : public Folder {
 protected:
  /// The results of a run: the losses of its steps from the beginning, and its weight.
  struct Left {
    std::vector<double> losses;
    float weight = 0, velocity = 0;
    std::vector<double> train_losses, accuracies, curve;
    bool operator==(const Left&) const = default;
  };

  Result<Ending> go(Left& left, const LoopSettings& settings, int64_t stop_after, bool stop_in_evaluation = false) {
    const Dataset data = numbered_rows(22);
    FakeLearner learner(settings.seed);
    LoopState state;
    auto folder = CheckpointFolder::open(path("c"), 3);
    if (!folder) return folder.error();
    const RunIdentity run = identity(data.rows(), settings);
    const auto parameters = fake_parameters();
    auto found = folder->newest(run, pointers(parameters), [](const Error& e) { ADD_FAILURE() << e.message(); });
    if (!found) return found.error();
    if (*found) {
      state = (*found)->checkpoint.state;
      learner.restore((*found)->tensors);
    }
    left.losses.resize(static_cast<size_t>(state.step));
    LoopHooks hooks = no_hooks();
    bool evaluating = false;
    hooks.step = [&](const StepRecord& record) { return left.losses.push_back(record.loss), Result<void>(); };
    hooks.evaluate = [&]() -> Result<std::optional<Evaluation>> {
      evaluating = true;
      if (stop_in_evaluation && state.step >= stop_after) return std::optional<Evaluation>();
      return std::optional<Evaluation>(Evaluation{{}, {{Metric::accuracy, static_cast<double>(learner.weight)}}, 22, 0});
    };
    hooks.save = [&](const LoopState& now) { return folder->save({run, 0.125, now}, learner.tensors()); };
    hooks.stopped = [&] { return !stop_in_evaluation && state.step >= stop_after; };
    const auto end = train(learner, data, settings, hooks, state);
    left.weight = learner.weight;
    left.velocity = learner.velocity;
    left.train_losses.clear();
    left.accuracies.clear();
    for (const EpochRecord& epoch : state.epochs.records()) {
      left.train_losses.push_back(epoch.train_loss);
      left.accuracies.push_back(epoch.evaluation->metrics.at(0).second);
    }
    left.curve = state.curve.points();
    return end;
  }
};

TEST_F(Resumes, BitForBitFromAnyStep) {
  LoopSettings settings = settings_of(24);  // six steps an epoch, the last of two rows
  Left whole;
  const auto end = go(whole, settings, 1000);
  ASSERT_TRUE(end) << to_string(end.error());
  for (int64_t stop = 0; stop < 24; ++stop) {
    std::filesystem::remove_all(path("c"));
    Left parts;
    const auto first = go(parts, settings, stop);
    ASSERT_TRUE(first) << to_string(first.error());
    EXPECT_EQ(*first, Ending::stopped);
    const auto second = go(parts, settings, 1000);
    ASSERT_TRUE(second) << to_string(second.error());
    EXPECT_EQ(*second, Ending::finished);
    EXPECT_EQ(parts, whole) << "stopped after step " << stop;
  }
}

TEST_F(Resumes, BitForBitInManyPieces) {
  LoopSettings settings = settings_of(24);
  Left whole, parts;
  ASSERT_TRUE(go(whole, settings, 1000));
  std::filesystem::remove_all(path("c"));
  for (int64_t stop = 1; stop <= 24; ++stop) {
    const auto piece = go(parts, settings, stop);
    ASSERT_TRUE(piece) << to_string(piece.error());
    EXPECT_EQ(*piece, stop < 24 ? Ending::stopped : Ending::finished);
  }
  EXPECT_EQ(parts, whole);
}

TEST_F(Resumes, AnEvaluationThatWasStopped) {
  LoopSettings settings = settings_of(24);
  Left whole, parts;
  ASSERT_TRUE(go(whole, settings, 1000));
  std::filesystem::remove_all(path("c"));
  const auto first = go(parts, settings, 12, true);
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, Ending::stopped);
  EXPECT_EQ(parts.accuracies.size(), 1U);
  ASSERT_TRUE(go(parts, settings, 1000));
  EXPECT_EQ(parts, whole);
}

TEST_F(Resumes, WithMoreSteps) {
  Left whole, parts;
  ASSERT_TRUE(go(whole, settings_of(20), 1000));
  std::filesystem::remove_all(path("c"));
  ASSERT_TRUE(go(parts, settings_of(9), 1000));
  ASSERT_TRUE(go(parts, settings_of(20), 1000));
  EXPECT_EQ(parts, whole);
  Left none = parts;
  ASSERT_TRUE(go(none, settings_of(20), 1000)) << "nothing is left to do";
  EXPECT_EQ(none.weight, whole.weight);
}

TEST_F(Resumes, RefusesAnotherRun) {
  LoopSettings settings = settings_of(9);
  Left left;
  ASSERT_TRUE(go(left, settings, 1000));
  LoopSettings batch = settings;
  batch.batch_size = 5;
  auto end = go(left, batch, 1000);
  ASSERT_FALSE(end);
  EXPECT_THAT(to_string(end.error()), testing::AllOf(HasSubstr("checkpoint-0000000009.safetensors: error:"),
                                                     HasSubstr("--batch-size is 4"), HasSubstr("this run's is 5")));
  LoopSettings seed = settings;
  seed.seed = 4;
  end = go(left, seed, 1000);
  ASSERT_FALSE(end);
  EXPECT_THAT(to_string(end.error()), HasSubstr("--seed is 3"));
  LoopSettings order = settings;
  order.shuffle = false;
  end = go(left, order, 1000);
  ASSERT_FALSE(end);
  EXPECT_THAT(to_string(end.error()), HasSubstr("--no-shuffle"));
}

TEST(Identity, OtherPlansAndOtherDevices) {
  const RunIdentity then = identity(10, settings_of(1));
  RunIdentity now = then;
  EXPECT_TRUE(check_same_run("f", then, now));
  EXPECT_TRUE(rounding_differences(then, now).empty());
  now.devices = {"cpu:0"};
  now.numerics = "fast";
  EXPECT_TRUE(check_same_run("f", then, now));
  EXPECT_THAT(rounding_differences(then, now),
              ElementsAre("devices cpu:0,cpu:1 then, cpu:0 now", "numerics strict then, fast now"));
  now.micro_batches = 2;
  EXPECT_THAT(check_same_run("f", then, now).error().message(), HasSubstr("--micro-batches is 1, this run's is 2"));
  now.micro_batches = 1;
  now.plan = "other";
  const auto refused = check_same_run("f", then, now);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("another plan"));
}

TEST(StopSignals, AreTakenOnAStackOfTheirOwn) {
  stack_t before{}, during{}, after{};
  sigaltstack(nullptr, &before);
  {
    const StopSignals signals;
    sigaltstack(nullptr, &during);
    EXPECT_FALSE(during.ss_flags & SS_DISABLE);
    struct sigaction action{};
    sigaction(SIGTERM, nullptr, &action);
    EXPECT_TRUE(action.sa_flags & SA_ONSTACK);
    std::raise(SIGTERM);
    EXPECT_EQ(signals.caught(), SIGTERM);
  }
  sigaltstack(nullptr, &after);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

}  // namespace
}  // namespace sheaf::training_tests
