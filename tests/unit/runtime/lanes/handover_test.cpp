// What asynchronous lanes hand over, and what happens to a run when a device is lost.
#include "noted_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(HandOver, RunsAreEagerThenRecordedThenReplayed) {
  Lanes lanes(1);
  MergingDevice device;
  for (const char* name : {"a", "b", "c"}) lanes.add(0, name);
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "b", "c", "synchronize"));
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(queue.take(),
              ElementsAre("begin", "begin recording", "a", "b", "c", "end recording", "replay a b c", "synchronize"));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor->run(nullptr));
    EXPECT_THAT(queue.take(), ElementsAre("begin", "replay a b c", "synchronize"));
  }
}

TEST(HandOver, SegmentsEndAtWaitsSignalsAndWhatCannotBeRecorded) {
  Lanes lanes(2);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(0, "b");
  lanes.signal(0);
  lanes.add(1, "x");
  lanes.wait(1, 0);
  lanes.add(1, "y");
  lanes.add(0, "c");
  lanes.add(0, "d").records = false;
  lanes.add(0, "e");
  lanes.add(0, "f");
  NotingQueue &first = *lanes.queues[0], &second = *lanes.queues[1];
  const auto executor = lanes.executor(device);
  for (int i = 0; i < 3; ++i) {
    first.take();
    second.take();
    ASSERT_TRUE(executor->run(nullptr));
  }
  // A single launch is launched directly.
  EXPECT_THAT(first.take(), ElementsAre("begin", "replay a b", "record e0", "c", "d", "replay e f", "synchronize"));
  EXPECT_THAT(second.take(), ElementsAre("begin", "wait e0", "replay x y", "synchronize"));
}

TEST(HandOver, NothingIsRecordedUnlessAskedForAndPossible) {
  for (const bool asked : {false, true}) {
    Lanes lanes(1);
    MergingDevice device;
    lanes.add(0, "a");
    lanes.add(0, "b");
    NotingQueue& queue = *lanes.queues[0];
    queue.recording_allowed = !asked;
    const auto executor = lanes.executor(device, asked);
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(executor->run(nullptr));
      EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "b", "synchronize"));
    }
  }
}

TEST(HandOver, TimedRunsAndThoseOneByOneReplayNothing) {
  Lanes lanes(1);
  MergingDevice device;
  for (const char* name : {"a", "m1", "m2"}) lanes.add(0, name);
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->run(nullptr));
  queue.take();
  OperationTimes times[3];
  const LaneTimes of_lanes[] = {{times}};
  ASSERT_TRUE(executor->run(nullptr, of_lanes));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "merged2", "synchronize"));
  EXPECT_GE(times[1].done, times[0].done);
  int shown = 0;
  ASSERT_TRUE(executor->run_one_by_one(
      true, [&](LaneId, const LaneOperation& operation) { return operation.instance.number() == shown++; }));
  EXPECT_EQ(shown, 3);
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "synchronize", "m1", "synchronize", "m2", "synchronize"));
}

TEST(HandOver, OneByOneAnOperationWithoutMemoryIsToldInWords) {
  Lanes lanes(1);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.executables.back()->no_memory = true;
  const auto executor = lanes.executor(device);
  const auto done = executor->run_one_by_one(true, [](LaneId, const LaneOperation&) { return true; });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message(), kNoMemory);
}

TEST(HandOver, ASegmentThatCannotBeRecordedGoesOnLaunchByLaunchAndSaysOnceWhy) {
  Lanes lanes(1);
  MergingDevice device;
  for (const char* name : {"a", "b", "c"}) lanes.add(0, name);
  NotingQueue& queue = *lanes.queues[0];
  queue.unrecordable = "b";
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  queue.take();
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "begin recording", "a", "b", "c", "end recording", "begin recording", "a",
                                        "end recording", "begin recording", "b", "end recording", "a", "b", "c", "synchronize"))
      << "each by itself tells which one it was";
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(executor->run(nullptr));
    EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "b", "c", "synchronize"));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: b cannot be captured; so 3 launches of each step are made one by one, not replayed as a graph\n");
}

TEST(HandOver, ARecordingThatOnlyAllOfASegmentSpoilSaysWhatItFoundFirst) {
  Lanes lanes(1);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(0, "b");
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  queue.recording_problem = "capture was invalidated";
  queue.problem = "an illegal address";
  ::testing::internal::CaptureStderr();
  EXPECT_FALSE(executor->run(nullptr));
  EXPECT_EQ(executor->device_failure()->error.message(), "an illegal address");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "a device that fails says more";
  queue.problem.clear();
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(executor->run(nullptr));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::StartsWith("warning: capture was invalidated; so 2 launches"));
  EXPECT_FALSE(executor->device_failure());
}

TEST(HandOver, CommitsAreGuardedAndNobodyWaitsForTheCheck) {
  Lanes lanes(1);
  MergingDevice device;
  NotedExecutable& check = lanes.add(0, "check");
  lanes.last(0).can_fail = true;
  lanes.add(0, "m1");
  lanes.commit(0);
  lanes.add(0, "m2");
  lanes.commit(0);
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  check.fails = true;  // known when all is done
  for (int i = 0; i < 3; ++i) {
    queue.take();
    EXPECT_FALSE(executor->run(nullptr));
    ASSERT_TRUE(executor->failure());
    EXPECT_EQ(executor->failure()->reason, "check failed");
  }
  EXPECT_THAT(queue.take(), ElementsAre("begin", "replay check guarded merged2", "synchronize"));
  check.fails = false;
  EXPECT_TRUE(executor->run(nullptr));
}

TEST(HandOver, WhoCommitsOnAnotherLaneWaitsUntilItIsKnown) {
  for (const bool fails : {false, true}) {
    Lanes lanes(2);
    MergingDevice device;
    NotedExecutable& check = lanes.add(0, "check");
    check.fails = fails;
    lanes.last(0).can_fail = true;
    lanes.signal(0);
    lanes.add(1, "a");
    lanes.add(1, "b");
    lanes.commit(1);
    lanes.wait(1, 0, &check);
    lanes.add(1, "c");
    NotingQueue& queue = *lanes.queues[1];
    const auto executor = lanes.executor(device);
    for (int i = 0; i < 3; ++i) {
      queue.take();
      EXPECT_EQ(executor->run(nullptr), !fails);
    }
    // The host waits for the event, and what was not committed was not recorded either.
    if (fails) {
      EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "c", "synchronize"));
    } else {
      EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "replay guarded b c", "synchronize"));
    }
  }
}

TEST(HandOver, ALostDeviceLeavesNobodyWaiting) {
  Lanes lanes(3);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.signal(0);
  lanes.add(1, "b");
  lanes.wait(1, 0);
  lanes.signal(1);
  lanes.add(2, "c");
  lanes.wait(2, 1);
  NotingQueue& third = *lanes.queues[2];
  NotingQueue& second = *lanes.queues[1];
  NotedEvent& event = *lanes.events[0];
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  event.problem = "the deadline passed";
  second.take();
  third.take();
  EXPECT_FALSE(executor->run(nullptr));
  ASSERT_TRUE(executor->device_failure());
  EXPECT_EQ(executor->device_failure()->error.message(), "the deadline passed");
  EXPECT_EQ(executor->device_failure()->lane.number(), 1);
  EXPECT_EQ(executor->device_failure()->instance.number(), 1) << "what waited";
  EXPECT_THAT(second.take(), ElementsAre("begin", "wait e0", "synchronize"));
  EXPECT_THAT(third.take(), ElementsAre("begin", "synchronize"));
  second.problem = "an illegal address";
  EXPECT_FALSE(executor->run(nullptr));
  EXPECT_EQ(executor->device_failure()->error.message(), "an illegal address") << "what it did itself comes first";
  event.problem.clear();
  second.problem.clear();
  EXPECT_TRUE(executor->run(nullptr));
  EXPECT_THAT(executor->device_failures(), IsEmpty());
}

}  // namespace
}  // namespace sheaf
