// What asynchronous lanes hand over, and what becomes of a run when a device is lost.
#include "noting_queue.h"

#include "runtime/bind/launches.h"
#include "runtime/lanes/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Lanes of noted operations; an operation's slots are one byte each of `memory`.
struct Lanes {
  std::vector<LaneProgram> programs;
  std::vector<std::unique_ptr<NotedExecutable>> executables;
  std::vector<std::unique_ptr<NotedEvent>> events;
  std::vector<NotingQueue*> queues;
  int instances = 0;

  explicit Lanes(size_t count) : programs(count) {
    for (LaneProgram& program : programs) {
      auto queue = std::make_unique<NotingQueue>();
      queues.push_back(queue.get());
      program.queue = std::move(queue);
      program.asynchronous = true;
    }
  }
  NotedExecutable& add(size_t lane, const std::string& name) {
    executables.push_back(std::make_unique<NotedExecutable>(name));
    LaneOperation operation;
    operation.executable = executables.back().get();
    operation.instance = instances++;
    LaneProgram& program = programs[lane];
    operation.first_wait = operation.end_wait = static_cast<uint32_t>(program.waits.size());
    program.operations.push_back(operation);
    return *executables.back();
  }
  LaneOperation& last(size_t lane) { return programs[lane].operations.back(); }
  void signal(size_t lane) {
    events.push_back(std::make_unique<NotedEvent>());
    events.back()->name = "e" + std::to_string(events.size() - 1);
    last(lane).event = events.back().get();
    last(lane).signal = static_cast<int32_t>(programs[lane].operations.size());
  }
  /// The last operation of `lane` waits for the last that signals on `other`.
  void wait(size_t lane, size_t other, Executable* decider = nullptr) {
    const LaneOperation& source = programs[other].operations.back();
    programs[lane].waits.push_back({static_cast<int>(other), source.signal, source.event, decider});
    last(lane).end_wait = static_cast<uint32_t>(programs[lane].waits.size());
  }
  void commit(size_t lane) {
    last(lane).commits = true;
    last(lane).guarded = true;
  }
  std::unique_ptr<Executor> executor(Device& device, bool record = true) {
    for (LaneProgram& program : programs) {
      const std::vector<std::vector<OperandRange>> none(program.operations.size());
      if (program.asynchronous) merged = form_launches(program, none, device, record);
    }
    return std::make_unique<Executor>(std::move(programs), 4);
  }
  std::vector<std::unique_ptr<Executable>> merged;
};

/// A device that merges all operations whose names begin alike with "m", `most` at once.
class MergingDevice : public Device {
 public:
  const DeviceInfo& info() const override { return info_; }
  int memory_space() const override { return 1; }
  Result<void*> allocate(size_t) override { return Error("no memory"); }
  void release(void*) override {}
  Result<std::unique_ptr<Queue>> open_queue(int) override { return Error("no queue"); }
  Result<std::unique_ptr<Event>> make_event() override { return Error("no event"); }
  Result<std::shared_ptr<const Kernels>> load_kernels(const Plan&) override { return Error("no kernels"); }
  Result<Prepared> prepare(const PrepareRequest&) override { return Error("no operation"); }
  Result<Prepared> prepare_reorder(const TensorSpec&, const TensorSpec&, int) override { return Error("no operation"); }
  std::unique_ptr<Executable> merge(std::span<Executable* const> parts) override {
    if (parts.size() > most) return nullptr;
    for (Executable* part : parts) {
      if (static_cast<NotedExecutable*>(part)->name[0] != 'm') return nullptr;
    }
    return std::make_unique<NotedExecutable>("merged" + std::to_string(parts.size()));
  }
  size_t most = 100;

 private:
  DeviceInfo info_;
};

TEST(HandOver, RunsAreEagerThenRecordedThenReplayed) {
  Lanes lanes(1);
  MergingDevice device;
  for (const char* name : {"a", "b", "c"}) lanes.add(0, name);
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "b", "c", "synchronize"));
  ASSERT_TRUE(executor->run(nullptr));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "begin recording", "a", "b", "c", "end recording", "replay a b c", "synchronize"));
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
  // One launch by itself is launched.
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
  OperationTimes* const of_lanes[] = {times};
  ASSERT_TRUE(executor->run(nullptr, of_lanes));
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "merged2", "synchronize"));
  EXPECT_GE(times[1].done, times[0].done);
  int shown = 0;
  ASSERT_TRUE(executor->run_one_by_one(true, [&](size_t, const LaneOperation& operation) { return operation.instance == shown++; }));
  EXPECT_EQ(shown, 3);
  EXPECT_THAT(queue.take(), ElementsAre("begin", "a", "synchronize", "m1", "synchronize", "m2", "synchronize"));
}

TEST(HandOver, ARecordingThatFailsIsAnError) {
  Lanes lanes(1);
  MergingDevice device;
  lanes.add(0, "a");
  lanes.add(0, "b");
  NotingQueue& queue = *lanes.queues[0];
  const auto executor = lanes.executor(device);
  ASSERT_TRUE(executor->run(nullptr));
  queue.recording_problem = "capture was invalidated";
  EXPECT_FALSE(executor->run(nullptr));
  ASSERT_TRUE(executor->device_failure());
  EXPECT_EQ(executor->device_failure()->error.message(), "capture was invalidated");
  EXPECT_EQ(executor->device_failure()->instance, 0);
  queue.recording_problem.clear();
  queue.take();
  EXPECT_TRUE(executor->run(nullptr)) << "and the next run is a fresh one";
  EXPECT_EQ(queue.take().back(), "synchronize");
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
    // The event is waited for on the host, and what was not committed was not recorded either.
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
  EXPECT_EQ(executor->device_failure()->lane, 1);
  EXPECT_EQ(executor->device_failure()->instance, 1) << "what waited";
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
  const auto merged = form_launches(lanes.programs[0], operands, device, true);
  std::vector<size_t> sizes;
  for (const LaneLaunch& launch : lanes.programs[0].launches) sizes.push_back(launch.end - launch.first);
  return sizes;
}

TEST(Merging, OnlyWhatCouldRunInAnyOrder) {
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(0), writes(2)}, {reads(0), writes(3)}}), ElementsAre(3));
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(1), writes(2)}, {reads(0), writes(3)}}), ElementsAre(1, 2)) << "reads what was made";
  EXPECT_THAT(sizes_of_launches({{reads(0), writes(1)}, {reads(2), writes(0)}}), ElementsAre(1, 1)) << "writes what is read";
  EXPECT_THAT(sizes_of_launches({{writes(1)}, {writes(1)}}), ElementsAre(1, 1)) << "writes the same";
  EXPECT_THAT(sizes_of_launches({{reads(0, 8), writes(0, 8)}, {reads(8, 8), writes(8, 8)}}), ElementsAre(2)) << "each in place";
  EXPECT_THAT(sizes_of_launches({{writes(0, 20)}, {writes(30)}, {writes(40)}, {reads(15)}}), ElementsAre(3, 1)) << "a long range far before";
}

TEST(Merging, AsManyAsTheDeviceTakesAndNothingOfTheCallers) {
  std::vector<std::vector<OperandRange>> operands;
  for (int i = 0; i < 23; ++i) operands.push_back({reads(0), writes(i + 1)});
  EXPECT_THAT(sizes_of_launches(operands, 10), ElementsAre(10, 10, 3));
  EXPECT_THAT(sizes_of_launches(operands, 22), ElementsAre(22, 1));
  EXPECT_THAT(sizes_of_launches(operands, 1).size(), 23);
  EXPECT_THAT(sizes_of_launches({{writes(1)}, {OperandRange{nullptr, 4, false, true}, writes(2)}, {writes(3)}}), ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace sheaf
