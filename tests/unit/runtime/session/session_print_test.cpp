// A session's output while it runs: lines of Print layers, warnings of gathers.
#include "runtime/plan/op_list.h"
#include "tests/fixtures/session_run.h"
#include "tests/fixtures/variable_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace sheaf {
namespace {

TEST(SessionPrint, ScalarsAreGatheredToAVectorWithAWarning) {
  PlanBuilder b;
  const int x = b.input("x", {b.batch()});
  const int s = b.parameter("s", {});
  const int r = b.region("net", b.batch());
  b.scatter(x, r, 0, {b.chunk(r)});
  b.output("y", b.gather(b.replicate(s, r), r, 0, {b.replicas(r)}, b.device(0), "y", true));
  const Model model = load(b);
  const float value = parameter_values(model, 0)[0];
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(model, "cpu", 9)[0], std::vector<float>(1, value));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "nothing is gathered on the host alone";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(run(model, "cpu:0,cpu:1,cpu:2", 9, 2)[0], std::vector<float>(3, value));
  EXPECT_EQ(run(model, "cpu:0-7", 10)[0], std::vector<float>(5, value));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "warning: Was asked to gather along dimension 0, but all input tensors were scalars; will instead unsqueeze and "
            "return a vector.\n");
}

TEST(SessionPrint, PrintsALineForEachReplica) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0), {}, true));
  auto session = model.bind("cpu:0-2", 10);
  ASSERT_TRUE(session);
  std::vector<std::string> lines;
  RunOptions options;
  options.print = [&](std::string_view line) { lines.emplace_back(line); };  // the sink is called by one at a time
  const auto x = numbers(50);
  std::vector<float> y(20);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  ASSERT_TRUE(session->run(in, out, options));
  EXPECT_THAT(lines,
              ::testing::UnorderedElementsAre("\tIn Model: input size torch.Size([4, 5]) output size torch.Size([4, 2])\n",
                                              "\tIn Model: input size torch.Size([4, 5]) output size torch.Size([4, 2])\n",
                                              "\tIn Model: input size torch.Size([2, 5]) output size torch.Size([2, 2])\n"));
}

TEST(SessionPrint, ALayersLineComesBeforeWhatFollowsIt) {
  PlanBuilder b = data_parallel_linear(5, 2, PlanBuilder::device(0), {}, true);
  const int net = b.program.outputs[0].value;
  const int home = b.step(Op::transfer, {net}, "home", {b.batch(), 2}, b.host());
  b.program.outputs[0].value = b.step(Op::print, {home}, "outside", {b.batch(), 2}, b.host(), {{"text", "Outside"}});
  const Model model = load(b);
  for (const char* devices : {"cpu", "cpu:0,cpu:1", "cpu:0,cpu:0,cpu:1", "cpu:0-7"}) {
    auto session = model.bind(devices, 8);
    ASSERT_TRUE(session);
    std::vector<std::string> lines;
    RunOptions options;
    options.print = [&](std::string_view line) { lines.emplace_back(line); };
    const auto x = numbers(40);
    std::vector<float> y(16);
    const void* in[] = {x.data()};
    void* out[] = {y.data()};
    for (int i = 0; i < 200; ++i) {
      lines.clear();
      ASSERT_TRUE(session->run(in, out, options));
      ASSERT_GE(lines.size(), 2U);
      ASSERT_EQ(std::count(lines.begin(), lines.end(), "Outside\n"), 1);
      ASSERT_EQ(lines.back(), "Outside\n") << devices;
    }
  }
}

}  // namespace
}  // namespace sheaf
