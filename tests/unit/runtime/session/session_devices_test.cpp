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

TEST(DeviceSet, SeveralGpusOfAProcessHaveLinks) {
  auto mixed = plan_devices(*parse_devices("cuda:0,cpu:0,cuda:1,cuda:0"), 2, 0, "h200");
  ASSERT_TRUE(mixed) << mixed.error().message();
  const LaneId first(1), cpu(2), second(3), again(4), first_link(5), second_link(6);
  ASSERT_EQ(mixed->lanes().size(), 7);
  EXPECT_EQ(mixed->name(first_link), "cuda:0/link");
  EXPECT_EQ(mixed->name(second_link), "cuda:1/link");
  EXPECT_EQ(mixed->messenger_for(first), first_link);
  EXPECT_EQ(mixed->messenger_for(again), first_link) << "one for each memory";
  EXPECT_EQ(mixed->messenger_for(second), second_link);
  EXPECT_EQ(mixed->messenger_for(cpu), cpu);
  EXPECT_TRUE(mixed->messenger(second_link) && !mixed->messenger(again));
  EXPECT_TRUE(mixed->together(first, again) && !mixed->together(first, second));
  EXPECT_EQ(mixed->world(), nullptr);
  for (const char* list : {"cuda:0", "cuda:0,cuda:0", "cuda:0,cpu:0", "cpu:0,cpu:1"})
    EXPECT_FALSE(plan_devices(*parse_devices(list), 2, 0, "")->has_messengers()) << list;
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
