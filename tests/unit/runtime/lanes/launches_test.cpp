// What is launched at once.
#include "noted_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;

/// Operations at bytes of a memory: reads, writes.
OperandRange reads(int at, size_t bytes = 1) {
  static const char memory[64] = {};
  return {memory + at, bytes, false, true};
}
OperandRange writes(int at, size_t bytes = 1) {
  OperandRange range = reads(at, bytes);
  range.writes = true;
  return range;
}

std::vector<size_t> sizes_of_launches(const std::vector<std::vector<OperandRange>>& operands, size_t most = 100) {
  Lanes lanes(1);
  MergingDevice device;
  device.most = most;
  for (size_t i = 0; i < operands.size(); ++i) lanes.add(0, "m");
  const auto merged = form_launches(lanes.programs[LaneId(0)], operands, device, true);
  std::vector<size_t> sizes;
  for (const LaneLaunch& launch : lanes.programs[LaneId(0)].launches) sizes.push_back(launch.end - launch.first);
  return sizes;
}

TEST(Merging, OnlyWhatCouldRunInAnyOrder) {
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(0), writes(2)}, {reads(0), writes(3)}}), ElementsAre(3));
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(1), writes(2)}, {reads(0), writes(3)}}), ElementsAre(1, 2))
      << "reads what was made";
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(2), writes(0)}}), ElementsAre(1, 1)) << "writes what is read";
  EXPECT_THAT(sizes_of_launches({{writes(1)}, {writes(1)}}), ElementsAre(1, 1)) << "writes the same";
  EXPECT_THAT(sizes_of_launches({{reads(0, 8), writes(0, 8)}, {reads(8, 8), writes(8, 8)}}), ElementsAre(2)) << "each in place";
  EXPECT_THAT(sizes_of_launches({{writes(0, 20)}, {writes(30)}, {writes(40)}, {reads(15)}}), ElementsAre(3, 1))
      << "a long range far before";
}

TEST(Merging, AsManyAsTheDeviceTakesAndNothingOfTheCallers) {
  std::vector<std::vector<OperandRange>> operands;
  for (int i = 0; i < 23; ++i) operands.push_back({reads(0), writes(i + 1)});
  EXPECT_THAT(sizes_of_launches(operands, 10), ElementsAre(10, 10, 3));
  EXPECT_THAT(sizes_of_launches(operands, 22), ElementsAre(22, 1));
  EXPECT_THAT(sizes_of_launches(operands, 1).size(), 23);
  EXPECT_THAT(sizes_of_launches({{writes(1)}, {OperandRange{nullptr, 4, false, true}, writes(2)}, {writes(3)}}),
              ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace sheaf
