// The launcher's signs in the environment; what processes must have in common; all ranks in one process.
#include "runtime/world/facts.h"
#include "runtime/world/launcher.h"
#include "runtime/world/simulated_world.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sheaf {
namespace {

using testing::HasSubstr;

int processes(const std::map<std::string, std::string>& variables) {
  const auto sign = launcher_sign([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
  return sign ? sign->processes : -1;
}

TEST(Launcher, IsKnownByItsVariables) {
  EXPECT_EQ(processes({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}}), 4);
  EXPECT_EQ(processes({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}), 3);
  EXPECT_EQ(processes({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}}), 8);
}

TEST(Launcher, ABatchScriptOfSlurmIsOneProcess) {
  EXPECT_EQ(processes({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}), -1);
  EXPECT_EQ(processes({}), -1);
}

TEST(Facts, TheFirstDifferenceNamesRanksAndValues) {
  EXPECT_TRUE(check_alike({{{"--seed", "1"}}, {{"--seed", "1"}}}));
  const auto differ =
      check_alike({{{"plan", "a"}, {"--seed", "1"}}, {{"plan", "a"}, {"--seed", "1"}}, {{"plan", "a"}, {"--seed", "2"}}});
  ASSERT_FALSE(differ);
  EXPECT_EQ(differ.error().message(), "rank 2: --seed is 2, and on rank 0 it is 1");
  const auto other = check_alike({{{"plan", "a"}, {"--seed", "1"}}, {{"plan", "a"}}});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("rank 1 is another program"));
}

TEST(SimulatedWorld, KeepsMessagesUntilTheyAreReceived) {
  SimulatedWorld world(3);
  const int first = 1, second = 2;
  int found = 0;
  ASSERT_TRUE(world.send(0, 1, &first, sizeof first));
  ASSERT_TRUE(world.send(0, 1, &second, sizeof second));
  ASSERT_TRUE(world.receive(1, 0, &found, sizeof found));
  EXPECT_EQ(found, 1);
  ASSERT_TRUE(world.receive(1, 0, &found, sizeof found));
  EXPECT_EQ(found, 2);
  ASSERT_TRUE(world.send(2, 0, &first, sizeof first));
  EXPECT_FALSE(world.receive(0, 2, &found, 1));
}

}  // namespace
}  // namespace sheaf
