// Trainer::save() and restore().
#include "tests/fixtures/training_run.h"

#include "runtime/base/file.h"
#include "runtime/training/checkpoint.h"
#include "runtime/training/trainer_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

std::string path(const std::string& name) { return ::testing::TempDir() + "trainer_file_" + name; }

TEST(TrainerFile, TrainingGoesOnBitForBit) {
  const std::string file = path("saved.safetensors");
  const Model model = training_model();
  auto trainer = Trainer::bind(model, training_devices(2), 6);
  ASSERT_TRUE(trainer);
  trainer->progress().lr = 0.01;
  trainer->progress().seed = uint64_t{1} << 63;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(trainer->step(TrainingBatch(6, i).buffers()));
  trainer->progress().epochs = 1;
  auto saved = trainer->save(file);
  ASSERT_TRUE(saved) << to_string(saved.error());
  std::vector<float> expected;
  for (int i = 3; i < 6; ++i) expected.push_back(*trainer->step(TrainingBatch(6, i).buffers()));

  const Model other = training_model();
  auto resumed = Trainer::bind(other, training_devices(2), 6);
  ASSERT_TRUE(resumed);
  auto restored = resumed->restore(file);
  ASSERT_TRUE(restored) << to_string(restored.error());
  EXPECT_EQ(resumed->progress().steps, 3);
  EXPECT_EQ(resumed->progress().epochs, 1);
  EXPECT_EQ(resumed->progress().lr, 0.01);
  EXPECT_EQ(resumed->progress().seed, uint64_t{1} << 63);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(*resumed->step(TrainingBatch(6, i).buffers()), expected[size_t(i - 3)]);
  EXPECT_EQ(parameter_values(other, 0), parameter_values(model, 0));
  EXPECT_EQ(momentum(other, *resumed), momentum(model, *trainer));
}

TEST(TrainerFile, WhatIsNoCheckpointOfThePlanChangesNothing) {
  const std::string file = path("refused.safetensors");
  const Model model = training_model();
  auto trainer = Trainer::bind(model, training_devices(0), 2);
  ASSERT_TRUE(trainer);
  ASSERT_TRUE(trainer->step(TrainingBatch(2).buffers()));
  const auto w = parameter_values(model, 0), m = momentum(model, *trainer);
  const auto refuse = [&](const std::string& reason) {
    auto restored = trainer->restore(file);
    ASSERT_FALSE(restored) << reason;
    EXPECT_THAT(to_string(restored.error()), HasSubstr(reason));
    EXPECT_EQ(restored.error().diagnostics[0].location.file, file);
    EXPECT_EQ(parameter_values(model, 0), w);
    EXPECT_EQ(momentum(model, *trainer), m);
    EXPECT_EQ(trainer->progress().steps, 1);
  };
  std::filesystem::remove(file);
  refuse("No such file");
  ASSERT_TRUE(model.save_parameters(file));
  refuse("not a sound checkpoint: its metadata has no 'sheaf_checkpoint'");

  TrainingPlan made({});
  made.b.plan.name = "another";
  Model other = *Model::from_plan(std::move(made.b.plan));
  ASSERT_TRUE(other.initialise_parameters(0));
  auto another = Trainer::bind(other, training_devices(0), 2);
  ASSERT_TRUE(another && another->save(file));
  refuse("it is of another plan");

  ASSERT_TRUE(trainer->save(file));
  std::string bytes = *read_file(file, 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(write_file_atomically(file, bytes));
  refuse("is damaged (CRC-32)");
  ASSERT_TRUE(write_file_atomically(file, bytes.substr(0, bytes.size() / 2)));
  refuse(file);
}

TEST(TrainerFile, ACheckpointOfARunIsTakenToo) {
  const Model model = training_model();
  auto trainer = Trainer::bind(model, training_devices(2), 6);
  ASSERT_TRUE(trainer && trainer->step(TrainingBatch(6).buffers()));
  Checkpoint checkpoint;
  checkpoint.identity.plan = plan_hash(model.plan());
  checkpoint.identity.seed = 7;
  checkpoint.lr = 0.25;
  checkpoint.state.step = 12;
  checkpoint.state.epoch = 3;
  auto folder = Folder::open(::testing::TempDir());
  auto tensors = read_tensors(*trainer);
  ASSERT_TRUE(folder && tensors);
  ASSERT_TRUE(write_checkpoint(*folder, "run.safetensors", checkpoint, views_of(*tensors)));
  const auto w = parameter_values(model, 0);
  ASSERT_TRUE(trainer->step(TrainingBatch(6, 1).buffers()));
  auto restored = trainer->restore(folder->path_of("run.safetensors"));
  ASSERT_TRUE(restored) << to_string(restored.error());
  EXPECT_EQ(parameter_values(model, 0), w);
  EXPECT_EQ(trainer->progress().steps, 12);
  EXPECT_EQ(trainer->progress().epochs, 3);
  EXPECT_EQ(trainer->progress().lr, 0.25);
  EXPECT_EQ(trainer->progress().seed, 7U);
}

TEST(TrainerFile, TheLearningRateMustBeANumber) {
  const Model model = training_model();
  auto trainer = Trainer::bind(model, training_devices(0), 2);
  ASSERT_TRUE(trainer);
  trainer->progress().lr = std::numeric_limits<double>::quiet_NaN();
  std::filesystem::remove(path("nan"));
  EXPECT_FALSE(trainer->save(path("nan")));
  EXPECT_FALSE(std::filesystem::exists(path("nan")));
}

}  // namespace
}  // namespace sheaf
