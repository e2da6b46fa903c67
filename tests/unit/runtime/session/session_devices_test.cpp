// The device list's syntax, and options of the command line.
#include "runtime/device/device_set.h"
#include "runtime/machine/thread_pool.h"
#include "runtime/session/open_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace sheaf {
namespace {

std::string parsed(const std::string& text) {
  auto list = parse_devices(text);
  if (!list) return "error: " + list.error().message();
  std::string result;
  for (const DeviceSpec& spec : *list) result += (result.empty() ? "" : " ") + to_string(spec);
  return result;
}

TEST(DeviceList, Forms) {
  EXPECT_EQ(parsed("cpu"), "cpu");
  EXPECT_EQ(parsed("cpu:0"), "cpu:0");
  EXPECT_EQ(parsed("cpu:0,cpu:1,cpu:0"), "cpu:0 cpu:1 cpu:0");
  EXPECT_EQ(parsed("cpu:2-4,cuda:1"), "cpu:2 cpu:3 cpu:4 cuda:1");
  EXPECT_EQ(parsed("cpu,cuda"), "cpu:0 cuda:0");
  EXPECT_TRUE(is_host_only(*parse_devices("cpu")));
  EXPECT_FALSE(is_host_only(*parse_devices("cpu:0")));
}

TEST(DeviceList, Refused) {
  for (const char* text :
       {"", ",", "cpu:", "cpu:x", "gpu:0", "cpu:0,", "cpu:-1", "cpu:3-1", "cpu:0-", "cpu:0 ,cpu:1", "cpu:1.5",
        "cpu:99999999999999999999", "cpu:0-999999999", "cpu:1024", "CPU", "cpu:0-1-2", "cpu:+1", "cpu:0-1023,cpu:0"}) {
    EXPECT_EQ(parsed(text).rfind("error: device list: ", 0), 0U) << text << ": " << parsed(text);
  }
}

TEST(DeviceSet, ThreadsAreSharedOut) {
  auto four = open_devices(*parse_devices("cpu:0,cpu:0,cpu:1,cpu:7"), 8);
  ASSERT_TRUE(four);
  EXPECT_EQ(four->lanes().size(), 5);
  EXPECT_EQ(four->threads(kHostLane), 8);
  EXPECT_EQ(four->threads(LaneId(3)), 2);
  auto many = open_devices(*parse_devices("cpu:0-7"), 2);
  EXPECT_EQ(many->threads(LaneId(8)), 1);
  auto one = open_devices(*parse_devices("cpu:3"), 2);
  EXPECT_EQ(one->lanes().size(), 1);
  EXPECT_EQ(one->threads(one->lane_of_entry(0)), 2);
  EXPECT_EQ(one->name(kHostLane), "cpu:3");
  auto none = open_devices(*parse_devices("cuda:0"));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), ::testing::HasSubstr("cuda:0"));
}

TEST(ThreadPool, RangesMakeUpTheWork) {
  for (int64_t work : {0, 1, 7, 64, 1000}) {
    for (int64_t grain : {1, 3, 100, 5000}) {
      for (int threads : {1, 2, 4}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(work));
        std::atomic<int> parts{0};
        parallel_for(work, grain, threads, [&](int64_t begin, int64_t end) {
          ++parts;
          for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
        });
        for (auto& count : seen) ASSERT_EQ(count, 1);
        ASSERT_LE(parts, std::max<int64_t>(1, std::min<int64_t>(threads, work / grain)));
      }
    }
  }
}

TEST(ThreadPool, TeamSizeIsPutBack) {
  const int before = team_size();
  {
    const TeamSize scope(before + 3);
    EXPECT_EQ(team_size(), before + 3);
  }
  EXPECT_EQ(team_size(), before);
}

}  // namespace
}  // namespace sheaf
