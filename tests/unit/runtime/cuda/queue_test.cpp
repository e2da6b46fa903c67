// Queues of GPUs on virtual ones: copies of all sizes between all memories happen in the order of the calls.
#include "runtime/cuda/backend_state.h"
#include "tests/sim/strict_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace sheaf::cuda {
namespace {

using sim::Call;
using sim::SimMachine;
using sim::strict;
using ::testing::HasSubstr;

struct Memory {
  Device* device = nullptr;  ///< null: the host's
  unsigned char* data = nullptr;
  std::vector<unsigned char> expected;
};

/// Two queues on two devices and their memories, with two of the host's.
class Queues : public ::testing::TestWithParam<unsigned> {
 protected:
  static constexpr size_t kBytes = size_t{5} << 20;  ///< more than a piece of either direction

  Queues() : machine(strict(GetParam())), random(GetParam()) {
    for (int i = 0; i < 2; ++i) {
      devices.push_back(machine.device(i));
      queues.push_back(std::move(*devices.back()->open_queue(1)));
      events.push_back(std::move(*devices.back()->make_event()));
    }
    for (auto& one : host) one.resize(kBytes);
    memories = {{devices[0].get(), static_cast<unsigned char*>(*devices[0]->allocate(kBytes)), {}},
                {devices[1].get(), static_cast<unsigned char*>(*devices[1]->allocate(kBytes)), {}},
                {nullptr, host[0].data(), {}},
                {nullptr, host[1].data(), {}}};
    for (Memory& memory : memories) {
      memory.expected.resize(kBytes);
      for (auto& byte : memory.expected) byte = static_cast<unsigned char>(random());
      if (!memory.device) std::memcpy(memory.data, memory.expected.data(), kBytes);
      if (memory.device)
        queues[memory.device == devices[1].get()]->copy(memory.data, memory.expected.data(), {kBytes, 1, 0, 0});
    }
    for (auto& queue : queues) EXPECT_TRUE(queue->synchronize());
  }
  ~Queues() override {
    queues.clear();
    events.clear();
    for (Memory& memory : memories) {
      if (memory.device) memory.device->release(memory.data);
    }
  }

  CopyShape shape() {
    static constexpr size_t kRows[] = {1, 1, 3, 1000};
    static constexpr size_t kSizes[] = {1, 60, 4096, 100000, kBytes / 2};
    const size_t rows = kRows[random() % 4], bytes = std::max<size_t>(1, std::min(kSizes[random() % 5], kBytes / 2 / rows));
    return {bytes, rows, bytes + random() % 3 * 16, bytes + random() % 3 * 16};
  }
  void copy(Queue& queue, Memory& target, Memory& source) {
    const CopyShape how = shape();
    const size_t reach = how.rows * std::max(how.source_pitch, how.target_pitch);
    if (reach > kBytes) return;
    const size_t to = random() % (kBytes - reach + 1), from = random() % (kBytes - reach + 1);
    queue.copy(target.data + to, source.data + from, how);
    for (size_t row = 0; row < how.rows; ++row) {
      std::memcpy(target.expected.data() + to + row * how.target_pitch, source.expected.data() + from + row * how.source_pitch,
                  how.row_bytes);
    }
  }
  void check() {
    for (size_t i = 0; i < 2; ++i) ASSERT_TRUE(queues[i]->synchronize());
    for (size_t i = 2; i < 4; ++i) ASSERT_EQ(std::memcmp(memories[i].data, memories[i].expected.data(), kBytes), 0) << i;
    std::vector<unsigned char> got(kBytes);
    for (size_t i = 0; i < 2; ++i) {
      queues[i]->copy(got.data(), memories[i].data, {kBytes, 1, 0, 0});
      ASSERT_TRUE(queues[i]->synchronize());
      ASSERT_EQ(std::memcmp(got.data(), memories[i].expected.data(), kBytes), 0) << i;
    }
  }

  SimMachine machine;
  std::mt19937 random;
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<std::unique_ptr<Queue>> queues;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<unsigned char> host[2];
  std::vector<Memory> memories;
};

TEST_P(Queues, CopiesHappenInTheOrderOfTheCalls) {
  size_t last = 0;
  for (int i = 0; i < 20; ++i) {
    Memory& target = memories[random() % 4];
    Memory& source = memories[random() % 4];
    if (&target == &source) continue;
    const size_t who = target.device ? target.device == devices[1].get() : source.device == devices[1].get();
    if (who != last) {
      queues[last]->record(*events[last]);
      ASSERT_TRUE(queues[who]->wait(*events[last]));
      last = who;
    }
    copy(*queues[who], target, source);
    if (random() % 8 == 0) {  // the host looks in between
      queues[who]->record(*events[who]);
      ASSERT_TRUE(events[who]->synchronize());
    }
  }
  check();
}

TEST_P(Queues, SmallCopiesAskLittleOfTheDriver) {
  std::vector<float> x(20), y(20, -1);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  Queue& queue = *queues[0];
  const auto calls = [&] {
    int64_t sum = 0;
    for (int call = 0; call < static_cast<int>(Call::count); ++call) {
      if (static_cast<Call>(call) != Call::query) sum += machine.driver().calls(static_cast<Call>(call));
    }
    return sum;
  };
  for (int step = 0; step < 100; ++step) {
    const int64_t before = calls();
    queue.begin_run();
    queue.copy(memories[0].data, x.data(), {80, 1, 0, 0});
    queue.copy(memories[0].data + 80, memories[0].data, {80, 1, 0, 0});
    queue.copy(y.data(), memories[0].data + 80, {80, 1, 0, 0});
    ASSERT_TRUE(queue.synchronize());
    ASSERT_LE(calls() - before, 6) << "the flag, three copies, an event behind the result, now and then one for progress";
    ASSERT_EQ(y, x);
    x[step % 20] += 1;
  }
}

TEST_P(Queues, PiecesThatLieNearComeInOneTransfer) {
  const std::vector<unsigned char> a(100, 1), b(30, 2), c(7, 3);
  const void* sources[] = {a.data(), b.data(), c.data()};
  const CopyPart parts[] = {{0, 100}, {128, 30}, {256, 7}};
  const int64_t before = machine.driver().calls(Call::copy);
  queues[0]->fetch(memories[0].data, sources, parts);
  EXPECT_EQ(machine.driver().calls(Call::copy) - before, 1);
  std::vector<unsigned char> got(263);
  queues[0]->copy(got.data(), memories[0].data, {263, 1, 0, 0});
  ASSERT_TRUE(queues[0]->synchronize());
  EXPECT_EQ(std::memcmp(got.data(), a.data(), 100), 0);
  EXPECT_EQ(std::memcmp(got.data() + 128, b.data(), 30), 0);
  EXPECT_EQ(std::memcmp(got.data() + 256, c.data(), 7), 0);
}

TEST_P(Queues, RecordedCopiesAreReplayed) {
  ASSERT_TRUE(queues[0]->begin_recording());
  queues[0]->copy(memories[0].data + 1000, memories[0].data, {500, 1, 0, 0});
  auto work = queues[0]->end_recording();
  ASSERT_TRUE(work) << to_string(work.error());
  for (int i = 0; i < 3; ++i) {
    std::vector<unsigned char> values(500, static_cast<unsigned char>(i)), got(500, 99);
    queues[0]->copy(memories[0].data, values.data(), {500, 1, 0, 0});
    queues[0]->replay(**work);
    queues[0]->copy(got.data(), memories[0].data + 1000, {500, 1, 0, 0});
    ASSERT_TRUE(queues[0]->synchronize());
    EXPECT_EQ(got, values);
  }
  // Work that cannot be recorded is reported at the end, and the queue goes on.
  ASSERT_TRUE(queues[0]->begin_recording());
  queues[0]->copy(memories[0].data, host[0].data(), {500, 1, 0, 0});
  auto refused = queues[0]->end_recording();
  ASSERT_FALSE(refused);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("cannot be recorded"));
  queues[0]->copy(memories[0].data, host[0].data(), {500, 1, 0, 0});
  EXPECT_TRUE(queues[0]->synchronize());
}

TEST_P(Queues, AFailureIsKeptAndNamed) {
  machine.driver().fail(Call::copy, 1, "out of luck", 0);
  queues[0]->copy(memories[0].data + 1000, memories[0].data, {500, 1, 0, 0});
  queues[0]->record(*events[0]);
  for (int i = 0; i < 2; ++i) {
    auto done = queues[0]->synchronize();
    ASSERT_FALSE(done);
    EXPECT_THAT(to_string(done.error()), HasSubstr("cuda:0: a copy within the device: cuMemcpyAsync: out of luck"));
  }
  EXPECT_FALSE(events[0]->synchronize());
  EXPECT_FALSE(queues[1]->wait(*events[0])) << "what would go on with it fails too";
  EXPECT_FALSE(queues[1]->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Seeds, Queues, ::testing::Range(1U, 4U));

TEST(Patience, NobodySleepsTowardsTheEndOfAStep) {
  using namespace std::chrono_literals;
  using Clock = Patience::Clock;
  const Clock::time_point begin = Clock::now();
  const auto sleeps = [&](Clock::duration after, const Patience::Expected& expected) {
    return Patience::sleep(begin, begin + after, expected);
  };
  EXPECT_EQ(sleeps(1ms, {}), 0us);
  EXPECT_EQ(sleeps(10ms, {}), 50us) << "nothing is known of the work";
  const auto expected = Patience::Expected::of(begin, 100ms);
  EXPECT_EQ(sleeps(1ms, expected), 0us);
  EXPECT_EQ(sleeps(50ms, expected), 50us);
  EXPECT_EQ(sleeps(79'990us, expected), 10us) << "no longer than until the last fifth";
  EXPECT_EQ(sleeps(80ms, expected), 0us);
  EXPECT_EQ(sleeps(120ms, expected), 0us);
  EXPECT_EQ(sleeps(150ms, expected), 50us) << "it takes longer than ever";
}

}  // namespace
}  // namespace sheaf::cuda
