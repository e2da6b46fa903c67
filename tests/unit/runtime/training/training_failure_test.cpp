// Steps that fail, or whose loss is not finite, leave everything as it was.
#include "tests/fixtures/training_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

TEST(TrainingFailure, ALossThatIsNotFiniteLeavesEverythingAsItWas) {
  for (const auto& devices : {training_devices(0), training_devices(1), training_devices(3)}) {
    const Model model = training_model();
    auto trainer = trainer_of(model, devices, 7);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    trainer->progress().lr = 0.01;
    const TrainingBatch good(7);
    ASSERT_TRUE(trainer->step(good.buffers()));
    const auto w = parameter_values(model, 0), row = parameter_values(model, 1), m = momentum(model, *trainer);
    TrainingBatch bad(7);
    bad.x[16] = std::numeric_limits<float>::quiet_NaN();
    auto loss = trainer->step(bad.buffers());
    ASSERT_TRUE(loss) << to_string(loss.error());
    EXPECT_TRUE(std::isnan(*loss));
    EXPECT_EQ(trainer->progress().steps, 1);
    EXPECT_EQ(*trainer->first_not_finite(7, bad.buffers()), "net.fc");
    EXPECT_EQ(*trainer->first_not_finite(7, good.buffers()), "");
    EXPECT_EQ(parameter_values(model, 0), w);
    EXPECT_EQ(parameter_values(model, 1), row);
    EXPECT_EQ(momentum(model, *trainer), m);
    ASSERT_TRUE(trainer->step(good.buffers())) << "and it goes on";
    EXPECT_NE(parameter_values(model, 0), w);
    EXPECT_NE(parameter_values(model, 1), row);
    EXPECT_EQ(trainer->progress().steps, 2);
  }
}

TEST(TrainingFailure, AFailureInAReplicaLeavesEverythingAsItWas) {
  TrainingOptions options;
  options.refuse = true;
  for (const auto& devices : {training_devices(0), training_devices(2), training_devices(3)}) {
    const Model model = training_model(options);
    auto trainer = trainer_of(model, devices, 6);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    const TrainingBatch good(6);
    TrainingBatch bad(6);
    bad.x[17] = 1000;  // the last replica's
    const auto w = parameter_values(model, 0), row = parameter_values(model, 1), m = momentum(model, *trainer);
    auto loss = trainer->step(bad.buffers());
    ASSERT_FALSE(loss);
    EXPECT_THAT(loss.error().message(), HasSubstr("it doesn't like what it sees"));
    EXPECT_EQ(parameter_values(model, 0), w);
    EXPECT_EQ(parameter_values(model, 1), row);
    EXPECT_EQ(momentum(model, *trainer), m);
    EXPECT_EQ(trainer->progress().steps, 0);
    EXPECT_TRUE(trainer->step(good.buffers()));
  }
}

}  // namespace
}  // namespace sheaf
