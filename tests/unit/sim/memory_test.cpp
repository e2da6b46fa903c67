// What binding finds out about the memory of virtual GPUs before it takes any.
#include "tests/fixtures/training_run.h"
#include "tests/sim/strict_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace sheaf {
namespace {

using sim::SimMachine;
using ::testing::HasSubstr;

constexpr int64_t kManyRows = 6'000;
constexpr int64_t kMemory = int64_t{4} << 20;

sim::MachineOptions machine(size_t communicator_bytes) {
  sim::MachineOptions options = sim::strict(3, std::make_shared<TrainingDevice>());
  options.driver.memory_bytes = kMemory;
  options.communicator_bytes = communicator_bytes;
  return options;
}

/// A communicator is opened, and takes what it wants for itself, before binding asks what is free.
TEST(MemoryOfGpus, ThatCommunicatorsTakeIsNoLongerFree) {
  std::array<int64_t, 2> needed{};
  {
    SimMachine plain(machine(0));
    const Model model = training_model();
    auto trainer = trainer_of(model, plain.list("cuda:0,cuda:1"), kManyRows);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    for (const int device : {0, 1}) needed[size_t(device)] = plain.driver().used_bytes(device);
    ASSERT_TRUE(trainer->step(TrainingBatch(kManyRows).buffers()));
  }
  const int64_t most = std::max(needed[0], needed[1]);
  ASSERT_GT(most, 1 << 16);
  ASSERT_LT(most, kMemory / 2);
  {
    SimMachine enough(machine(size_t(kMemory - most) / 2));
    const Model model = training_model();
    auto trainer = trainer_of(model, enough.list("cuda:0,cuda:1"), kManyRows);
    ASSERT_TRUE(trainer) << to_string(trainer.error());
    EXPECT_TRUE(trainer->step(TrainingBatch(kManyRows).buffers()));
  }
  const auto taken = size_t(kMemory - most / 2);
  SimMachine scarce(machine(taken));
  const Model model = training_model();
  auto trainer = trainer_of(model, scarce.list("cuda:0,cuda:1"), kManyRows);
  ASSERT_FALSE(trainer);
  EXPECT_THAT(to_string(trainer.error()), HasSubstr("more of memory are needed"));
  EXPECT_THAT(to_string(trainer.error()), HasSubstr("of the 4.0 MiB of cuda:"));
  for (const int device : {0, 1}) EXPECT_EQ(scarce.driver().used_bytes(device), int64_t(taken)) << "nothing else was taken";
}

}  // namespace
}  // namespace sheaf
