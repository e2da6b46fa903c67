// What the executor asks of queues on which two runs are under way.
#include "noted_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;

OverlappingQueue& queue_of(const Lanes& lanes, size_t lane) { return static_cast<OverlappingQueue&>(*lanes.queues[lane]); }

TEST(UnderWay, ARunBeginsAfterTheOneBeforeOnAllLanes) {
  Lanes lanes(2, true);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(1, "x");
  OverlappingQueue &first = queue_of(lanes, 0), &second = queue_of(lanes, 1);
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->overlaps() && executor->can_start());
  executor->start(nullptr, {});
  EXPECT_EQ(executor->under_way(), 1);
  EXPECT_THAT(first.take(), ElementsAre("begin 0 clear", "a", "end end0"));
  EXPECT_THAT(second.take(), ElementsAre("begin 0 clear", "x", "end end2"));
  executor->start(nullptr, {});
  EXPECT_THAT(first.take(), ElementsAre("begin 1 after end0 after end2", "a", "end end1"));
  EXPECT_THAT(second.take(), ElementsAre("begin 1 after end0 after end2", "x", "end end3"));
  ASSERT_TRUE(executor->finish());
  executor->start(nullptr, {});
  EXPECT_THAT(first.take(), ElementsAre("finish", "begin 0 after end1 after end3", "a", "end end0"));
  ASSERT_TRUE(executor->finish());
  ASSERT_TRUE(executor->finish());
  EXPECT_EQ(executor->under_way(), 0);
  first.take();
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(first.take(), ElementsAre("begin 0", "a", "synchronize")) << "nothing has failed: nothing is cleared";
}

TEST(UnderWay, EachPhaseHasARecordingOfItsOwn) {
  Lanes lanes(1, true);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(0, "b");
  OverlappingQueue& queue = queue_of(lanes, 0);
  const auto executor = lanes.executor(device);
  executor->start(nullptr, {});
  for (int i = 0; i < 2; ++i) {
    queue.take();
    executor->start(nullptr, {});
    const auto calls = queue.take();
    EXPECT_EQ(std::ranges::count(calls, "begin recording"), 1) << "of run " << i + 2;
    EXPECT_EQ(std::ranges::count(calls, "replay a b"), 1);
    ASSERT_TRUE(executor->finish());
  }
  queue.take();
  executor->start(nullptr, {});
  EXPECT_THAT(queue.take(), ElementsAre("begin 1 after end0", "replay a b", "end end1"));
  while (executor->under_way() > 0) ASSERT_TRUE(executor->finish());
}

TEST(UnderWay, AFailureIsTheRunsThatItIsReportedFor) {
  for (const int fails_in : {0, 1}) {
    Lanes lanes(1, true);
    MergingDevice device;
    NotedExecutable& check = lanes.add(0, "check");
    lanes.last(0).can_fail = true;
    lanes.add(0, "update");
    lanes.commit(0);
    OverlappingQueue& queue = queue_of(lanes, 0);
    const auto executor = lanes.executor(device, false);
    executor->start(nullptr, {});
    executor->start(nullptr, {});
    check.fails_in = fails_in;
    queue.take();
    EXPECT_EQ(executor->finish(), fails_in == 1);
    if (fails_in == 0) {
      EXPECT_THAT(queue.take(), ElementsAre("finish", "finish")) << "the other has ended too";
    } else {
      EXPECT_FALSE(executor->finish());
    }
    ASSERT_TRUE(executor->failure());
    EXPECT_EQ(executor->failure()->reason, "check failed");
    EXPECT_EQ(executor->under_way(), 0);
    check.fails_in = -1;
    queue.take();
    executor->start(nullptr, {});
    EXPECT_THAT(queue.take(), ElementsAre("begin 0 clear", "check", "guarded update", "end end0"));
    EXPECT_TRUE(executor->finish());
    EXPECT_EQ(executor->failure(), nullptr);
  }
}

TEST(UnderWay, ALostDeviceEndsAllRunsOnAllLanes) {
  Lanes lanes(2, true);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(1, "x");
  OverlappingQueue &first = queue_of(lanes, 0), &second = queue_of(lanes, 1);
  const auto executor = lanes.executor(device);
  executor->start(nullptr, {});
  executor->start(nullptr, {});
  first.take();
  second.take();
  second.problem = "gone";
  EXPECT_FALSE(executor->finish());
  EXPECT_EQ(executor->under_way(), 0);
  ASSERT_TRUE(executor->device_failure());
  EXPECT_EQ(executor->device_failure()->error.message(), "gone");
  EXPECT_THAT(first.take(), ElementsAre("finish", "synchronize"));
  EXPECT_THAT(second.take(), ElementsAre("finish", "synchronize"));
}

TEST(UnderWay, RunsOfADisturbedQueueComeOneAtATimeAndClear) {
  Lanes lanes(1, true);
  MergingDevice device;
  lanes.add(0, "a");
  OverlappingQueue& queue = queue_of(lanes, 0);
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  queue.is_disturbed = true;
  EXPECT_FALSE(executor->can_start());
  queue.take();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(executor->run(nullptr));
    EXPECT_THAT(queue.take(), ElementsAre("begin 0 clear", "a", "synchronize"));
  }
}

}  // namespace
}  // namespace sheaf
