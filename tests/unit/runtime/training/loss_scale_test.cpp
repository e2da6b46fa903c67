// What the loop tells of the loss's scale, and when it ends a run whose steps are all skipped.
#include "runtime/training/loss_scale.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <cmath>

namespace sheaf::training_tests {
namespace {

using testing::HasSubstr;

LossScale shown(float scale, int64_t updates, bool adapts = true) { return {scale, adapts, 0, updates, 0}; }

TEST(LossScaleWatch, StepsMayBeSkippedWhileTheScaleFalls) {
  LossScaleWatch watch;
  for (int step = 1; step <= 40; ++step) EXPECT_TRUE(watch.see(step, shown(std::ldexp(1.0F, 16 - step), 0))) << step;
  EXPECT_TRUE(watch.see(41, shown(0x1p-24F, 1))) << "an update";
  EXPECT_TRUE(watch.see(42, shown(0x1p-25F, 2))) << "small, but steps are updates";
  const auto over = watch.see(43, shown(0x1p-26F, 2));
  ASSERT_FALSE(over);
  EXPECT_THAT(to_string(over.error()), HasSubstr("the last 1 step was skipped, because gradients weren't finite; the loss's "
                                                 "scale is 1.49012e-08 now, and no smaller one can help"));
}

TEST(LossScaleWatch, CountsFromTheLastUpdateThatItKnows) {
  LossScaleWatch watch;
  EXPECT_TRUE(watch.see(500, shown(8, 400, false))) << "of a resumed run: which steps were skipped isn't known";
  EXPECT_TRUE(watch.see(1499, shown(8, 400, false)));
  const auto over = watch.see(1500, shown(8, 400, false));
  ASSERT_FALSE(over);
  EXPECT_THAT(to_string(over.error()), HasSubstr("the last 1000 steps were skipped"));
  EXPECT_THAT(to_string(over.error()), HasSubstr("{} makes it adapt"));
  EXPECT_TRUE(watch.see(1501, shown(8, 401, false))) << "an update after all";
  LossScaleWatch fresh;
  EXPECT_FALSE(fresh.see(1000, shown(8, 0, false))) << "none at all was an update";
}

/// Its first `skips` steps are skipped, and the scale halves with each.
class ScaledLearner : public FakeLearner {
 public:
  explicit ScaledLearner(int64_t skips) : skips_(skips) {}
  bool scales_loss() const override { return true; }
  Result<std::optional<LossScale>> watch_loss_scale() override {
    ++looks;
    const int64_t steps = progress().steps, skipped = std::min(steps, skips_);
    const LossScale now{std::ldexp(1.0F, 16 - static_cast<int>(skipped)), true, steps - skipped, steps - skipped, skipped};
    SHEAF_TRY(watch_.see(steps, now));
    return std::optional(now);
  }
  int looks = 0;

 private:
  int64_t skips_;
  LossScaleWatch watch_;
};

struct Told {
  std::vector<StepRecord> steps;
  std::vector<EpochRecord> epochs;
};
LoopHooks telling(Told& told) {
  LoopHooks hooks = no_hooks();
  hooks.step = [&](const StepRecord& record) { return told.steps.push_back(record), Result<void>(); };
  hooks.epoch = [&](const EpochRecord& record) { return told.epochs.push_back(record), Result<void>(); };
  return hooks;
}

TEST(Loop, TellsTheScaleEveryTenStepsAndAfterEpochs) {
  const Dataset data = numbered_rows(28);  // seven steps an epoch
  ScaledLearner learner(3);
  Told told;
  LoopState state;
  LoopSettings settings;
  settings.batch_size = 4;
  settings.steps = 24;
  ASSERT_TRUE(train(learner, data, settings, telling(told), state));
  ASSERT_EQ(told.steps.size(), 24U);
  for (const StepRecord& record : told.steps) {
    ASSERT_EQ(record.loss_scale.has_value(), record.step % 10 == 0) << record.step;
    if (record.loss_scale) {
      EXPECT_EQ(*record.loss_scale, (LossScale{8192, true, record.step - 3, record.step - 3, 3}));
    }
  }
  ASSERT_EQ(told.epochs.size(), 4U);
  for (const EpochRecord& record : told.epochs) EXPECT_EQ(record.loss_scale->skipped, 3);
  EXPECT_EQ(learner.looks, 2 + 4);
}

TEST(Loop, EndsARunWhoseStepsAreAllSkipped) {
  const Dataset data = numbered_rows(4000);
  ScaledLearner learner(10'000);
  Told told;
  LoopState state;
  LoopSettings settings;
  settings.batch_size = 4;
  settings.steps = 900;
  const auto ending = train(learner, data, settings, telling(told), state);
  ASSERT_FALSE(ending);
  EXPECT_THAT(to_string(ending.error()), HasSubstr("the last 50 steps were skipped"));
  EXPECT_THAT(to_string(ending.error()), HasSubstr("after step 50 of training"));
  EXPECT_EQ(told.steps.size(), 50U) << "the last one, too, is told";
}

TEST(Loop, ALossWithoutAScaleTellsNone) {
  const Dataset data = numbered_rows(4);
  FakeLearner learner;
  Told told;
  LoopState state;
  LoopSettings settings;
  settings.batch_size = 4;
  settings.steps = 20;
  ASSERT_TRUE(train(learner, data, settings, telling(told), state));
  for (const StepRecord& record : told.steps) EXPECT_FALSE(record.loss_scale);
  for (const EpochRecord& record : told.epochs) EXPECT_FALSE(record.loss_scale);
}

}  // namespace
}  // namespace sheaf::training_tests
