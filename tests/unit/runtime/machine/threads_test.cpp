// What sheaf/model.h allows at the same time: sessions of one model in several threads, and binding there.
#include "runtime/machine/team.h"
#include "runtime/plan/op_list.h"
#include "tests/fixtures/session_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace sheaf {
namespace {

constexpr int kThreads = 4;
constexpr int64_t kBatch = 2, kChannels = 96, kPixels = 9;

/// Consecutive convolutions, each with a weight that is reordered to a library's layout: many microseconds of work between new
/// weights and a run's results.
PlanBuilder chained_convolutions() {
  PlanBuilder b;
  const Json window = {
      {"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"dilation", {1, 1}}, {"groups", 1}};
  const std::vector<Extent> image = {b.batch(), kChannels, 3, 3};
  const int x = b.input("x", image);
  int y = b.step(Op::transfer, {x}, "moved", image, b.device(0));
  for (int i = 0; i < 6; ++i) {
    const int weight = b.parameter("w" + std::to_string(i), {kChannels, kChannels, 3, 3}, b.device(0));
    b.plan.parameters.back().init["std"] = 0.03;
    y = b.step(Op::conv, {y, weight}, "y" + std::to_string(i), image, b.device(0), window, {"x", "weight"});
  }
  b.output("y", y);
  return b;
}

struct Buffers {
  std::vector<float> x = numbers(kBatch * kChannels * kPixels), y = std::vector<float>(x.size());

  Result<void> of(Session& session) {
    const void* const in[] = {x.data()};
    void* const out[] = {y.data()};
    return session.run(in, out);
  }
};

/// Weights of two kinds in turns.
void set_weights(Model& model, int round) {
  std::vector<float> weight = numbers(kChannels * kChannels * 9);
  for (float& w : weight) w *= round % 2 ? -0.02F : 0.03F;
  std::vector<TensorView> views;
  for (const ParameterInfo& parameter : model.parameters())
    views.push_back({parameter.name, parameter.dtype, parameter.shape, weight.data()});
  ASSERT_TRUE(model.set_parameters(views));
}

/// Calls body(number) in that many threads.
template <typename Body>
void in_threads(Body body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, SessionsThatFindNewWeightsMakeOfThemWhatOneWould) {
  Model model = load(chained_convolutions());
  Model alone = load(chained_convolutions());
  for (const char* devices : {"cpu:0", "cpu:0,cpu:1"}) {
    auto reference = alone.bind(devices, kBatch);
    ASSERT_TRUE(reference);
    std::vector<Session> sessions;
    for (int i = 0; i < kThreads; ++i) {
      auto session = model.bind(devices, kBatch);
      ASSERT_TRUE(session);
      sessions.push_back(std::move(*session));
    }
    for (int round = 0; round < 40; ++round) {
      set_weights(alone, round);
      set_weights(model, round);
      Buffers expected;
      ASSERT_TRUE(expected.of(*reference));
      std::vector<Buffers> runs(kThreads);
      std::vector<char> done(kThreads);
      std::barrier start(kThreads);
      in_threads([&](int i) {
        start.arrive_and_wait();
        done[size_t(i)] = bool(runs[size_t(i)].of(sessions[size_t(i)]));
      });
      for (int i = 0; i < kThreads; ++i) {
        EXPECT_TRUE(done[size_t(i)]);
        ASSERT_EQ(runs[size_t(i)].y, expected.y) << "thread " << i << " of round " << round << " on " << devices;
      }
    }
  }
}

TEST(Threads, OneModelIsBoundByAllWhileAnotherSessionRuns) {
  const Model model = load(chained_convolutions());
  auto running = model.bind("cpu:0", kBatch);
  ASSERT_TRUE(running);
  Buffers expected;
  ASSERT_TRUE(expected.of(*running));
  std::atomic<int> binding{kThreads - 1};
  std::vector<char> same(kThreads, 1);
  in_threads([&](int i) {
    const auto as_expected = [&](Session& session) {
      Buffers buffers;
      return buffers.of(session) && buffers.y == expected.y;
    };
    if (i == 0) {
      while (binding.load() > 0) same[0] &= as_expected(*running);
      return;
    }
    for (int round = 0; round < 6; ++round) {
      // Other batches want other layouts: each thread asks for some that nobody has made yet.
      EXPECT_TRUE(model.bind("cpu:0,cpu:1", 1 + 7 * round + i));
      auto session = model.bind(round % 2 ? "cpu:0" : "cpu:1,cpu:0", kBatch);
      same[size_t(i)] &= session && as_expected(*session);
      std::vector<float> weight(kChannels * kChannels * 9);
      EXPECT_TRUE(model.read_parameter(size_t(round), std::as_writable_bytes(std::span(weight))));
    }
    binding.fetch_sub(1);
  });
  for (int i = 0; i < kThreads; ++i) EXPECT_TRUE(same[size_t(i)]) << "thread " << i;
}

/// SigBlk of a thread of this process, as /proc tells it.
uint64_t blocked_signals(const std::filesystem::path& task) {
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  return 0;
}

TEST(Threads, OfTheRuntimeTakeNoSignals) {
  static std::atomic<int> others;
  others = 0;
  const auto look = [](void*) {
    const auto id = gettid();
    if (id == getpid()) return void(usleep(1000));
    ++others;
    EXPECT_TRUE(blocked_signals("/proc/self/task/" + std::to_string(id)) & 1ULL << (SIGINT - 1));
    EXPECT_FALSE(blocked_signals("/proc/self/task/" + std::to_string(id)) & 1ULL << (SIGSEGV - 1)) << "a fault of its own";
  };
  // A member may come too late for its share; the caller takes it then.
  for (int i = 0; i < 1000 && others == 0; ++i) Team::own().run(4, look, nullptr);
  EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace sheaf
