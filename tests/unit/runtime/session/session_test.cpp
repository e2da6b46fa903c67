// Plans bound and run through the C++ interface: chunks, device lists, empty batches, strange dims.
#include "runtime/plan/op_list.h"
#include "tests/fixtures/session_run.h"
#include "tests/fixtures/variable_values.h"

#include "runtime/bind/binding.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

std::vector<float> linear(const std::vector<float>& x, const float* w, const float* b, int64_t in, int64_t out) {
  const auto rows = static_cast<int64_t>(x.size()) / in;
  std::vector<float> y(static_cast<size_t>(rows * out));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t o = 0; o < out; ++o) {
      double sum = b[o];
      for (int64_t k = 0; k < in; ++k) sum += double(x[size_t(i * in + k)]) * w[o * in + k];
      y[size_t(i * out + o)] = static_cast<float>(sum);
    }
  }
  return y;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5) << what << " at " << i;
}

TEST(Session, LinearOnEveryListAndBatch) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  const auto w = parameter_values(model, 0), b = parameter_values(model, 1);
  for (const char* devices : {"cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:0", "cpu:1,cpu:0,cpu:2", "cpu:0-7"}) {
    for (int64_t batch : {0, 1, 2, 5, 9, 10, 17, 30, 33}) {
      const auto expected = linear(numbers(size_t(batch * 5)), w.data(), b.data(), 5, 2);
      const auto outputs = run(model, devices, batch, 3);
      ASSERT_EQ(outputs.size(), 1U);
      expect_near(outputs[0], expected, std::string(devices) + ", batch " + std::to_string(batch));
    }
  }
}

TEST(Session, EqualChunksGiveEqualBits) {
  const Model model = load(data_parallel_linear(37, 19, PlanBuilder::device(1)));
  EXPECT_EQ(run(model, "cpu:0,cpu:1", 24), run(model, "cpu:0,cpu:0", 24));
  EXPECT_EQ(run(model, "cpu:0,cpu:1,cpu:2", 24), run(model, "cpu:5,cpu:5,cpu:5", 24));
}

TEST(Session, GatheredPartsAreMadeInTheCallersBuffer) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  auto session = model.bind("cpu:0,cpu:1,cpu:2", 30);
  ASSERT_TRUE(session) << to_string(session.error());
  for (const OperationInfo& operation : session->binding().info().operations) EXPECT_NE(operation.implementation, "copy");
  for (const LaneInfo& lane : session->binding().info().lanes) EXPECT_LE(lane.arena_bytes, lane.arena_bound * 11 / 10);
}

TEST(Session, OutputDeviceOutsideTheGroupAndIdsInAnyOrder) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0), std::vector<int>{3, 1}));
  const Model straight = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  expect_near(run(model, "cpu:0-3", 11)[0], run(straight, "cpu", 11)[0], "ids 3, 1");
  auto session = model.bind("cpu:0-3", 11);
  ASSERT_TRUE(session);
  std::vector<std::string> lanes;
  for (const auto& operation : session->binding().info().operations) {
    if (operation.op == Op::linear) lanes.push_back(operation.lane);
  }
  EXPECT_EQ(lanes, (std::vector<std::string>{"cpu:3", "cpu:1"}));
}

TEST(Session, ScatterAndGatherAlongDimensionOne) {
  for (int dim : {1, -1}) {
    PlanBuilder b;
    const int x = b.input("x", {3, b.batch()});
    const int r = b.region("net", b.batch(), {}, dim);
    const int part = b.scatter(x, r, dim, {3, b.chunk(r)});
    const int flat = b.step(Op::view, {part}, "flat", {b.chunk(r, 3)}, b.in_region(r));
    const int back = b.step(Op::view, {flat}, "back", {3, b.chunk(r)}, b.in_region(r));
    b.output("y", b.gather(back, r, dim, {3, b.batch()}, b.device(0), "y"));
    const Model model = load(b);
    for (int64_t batch : {0, 1, 4, 7}) {
      for (const char* devices : {"cpu", "cpu:0,cpu:1", "cpu:0-4"}) {
        EXPECT_EQ(run(model, devices, batch)[0], numbers(size_t(3 * batch))) << devices << " " << batch;
      }
    }
  }
}

TEST(Session, RegionWithoutInputsRunsOnAllItsDevices) {
  PlanBuilder b;
  b.input("x", {b.batch()});
  const int w = b.parameter("p", {2, 3});
  const int r = b.region("net", {});
  const int local = b.replicate(w, r);
  b.output("y", b.gather(local, r, 0, {b.replicas(r) * 2, 3}, b.device(0), "y"));
  const Model model = load(b);
  const auto p = parameter_values(model, 0);
  auto expected = p;
  EXPECT_EQ(run(model, "cpu", 4)[0], expected);
  expected.insert(expected.end(), p.begin(), p.end());
  expected.insert(expected.end(), p.begin(), p.end());
  EXPECT_EQ(run(model, "cpu:0,cpu:1,cpu:1", 4)[0], expected);
}

TEST(Session, AValueThatIsOutputTwiceInputAndSlice) {
  // x itself is an output; y is one twice, and is read after it was gathered into; so is a parameter.
  PlanBuilder b = data_parallel_linear(4, 4, PlanBuilder::device(0));
  const int y = b.program.outputs[0].value, x = 0, w = 1, bias = 2;
  b.output("x", x);
  b.output("again", y);
  b.output("weight", w);
  const int on_host = b.step(Op::transfer, {y}, "host_y", {b.batch(), 4}, b.host());
  b.output("z", b.linear(on_host, w, bias, "z", {b.batch(), 4}, b.host()));
  const Model model = load(b);
  const auto weights = parameter_values(model, 0), biases = parameter_values(model, 1);
  const float *wp = weights.data(), *bp = biases.data();
  for (const char* devices : {"cpu", "cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:0,cpu:0"}) {
    const auto outputs = run(model, devices, 7, 2);
    const auto input = numbers(28);
    const auto first = linear(input, wp, bp, 4, 4);
    expect_near(outputs[0], first, "y");
    EXPECT_EQ(outputs[1], input);
    EXPECT_EQ(outputs[2], outputs[0]);
    EXPECT_EQ(outputs[3], std::vector<float>(wp, wp + 16));
    expect_near(outputs[4], linear(first, wp, bp, 4, 4), "z");
  }
}

TEST(Session, RegionsInARowKeepTheirOrder) {
  // Three regions on different devices; each reads the last one's gathered result: waits in both directions.
  PlanBuilder b;
  int x = b.input("x", {b.batch(), 6});
  const int w = b.parameter("w", {6, 6}), bias = b.parameter("b", {6});
  const std::vector<std::vector<int>> ids = {{0, 1}, {1, 0}, {2, 1, 0}, {2, 2}};
  for (size_t i = 0; i < ids.size(); ++i) {
    const int r = b.region("net" + std::to_string(i), b.batch(), ids[i]);
    const int xs = b.scatter(x, r, 0, {b.chunk(r), 6});
    int y = b.linear(xs, b.replicate(w, r), b.replicate(bias, r), "fc" + std::to_string(i), {b.chunk(r), 6}, b.in_region(r));
    y = b.linear(y, b.replicate(w, r), b.replicate(bias, r), "fc2" + std::to_string(i), {b.chunk(r), 6}, b.in_region(r));
    x = b.gather(y, r, 0, {b.batch(), 6}, b.device(static_cast<int>(i % 3)), "net" + std::to_string(i));
  }
  b.output("y", x);
  // replicate() gave values the same names twice; this makes them unique.
  for (size_t i = 0; i < b.program.values.size(); ++i) b.program.values[i].name += "#" + std::to_string(i);
  const Model model = load(b);
  for (int64_t batch : {1, 2, 3, 8, 64}) {
    const auto expected = run(model, "cpu", batch)[0];
    for (int i = 0; i < 20; ++i) expect_near(run(model, "cpu:0,cpu:1,cpu:2", batch, 5)[0], expected, "three devices");
  }
}

TEST(Session, WeightsAreSharedByRemainderBindingsAndTakeEffectAtTheNextRun) {
  Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  auto whole = model.bind("cpu:0,cpu:1", 8), rest = model.bind("cpu:0,cpu:1", 3);
  ASSERT_TRUE(whole && rest);
  EXPECT_EQ(whole->binding().info().parameter_bytes, rest->binding().info().parameter_bytes);
  EXPECT_EQ(whole->binding().info().parameter_bytes, 12 * sizeof(float));
  const std::vector<float> w(10, 0.F), b = {1.F, 2.F};
  const std::vector<TensorView> weights = {{"net.weight", DType::float32, {2, 5}, w.data()},
                                           {"net.module.bias", DType::float32, {2}, b.data()},
                                           {"net.bn.num_batches_tracked", DType::int64, {}, w.data()}};
  auto set = model.set_parameters(weights);
  ASSERT_TRUE(set) << to_string(set.error());
  const auto x = numbers(40);
  std::vector<float> y(16);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  for (auto* session : {&*whole, &*rest}) {
    ASSERT_TRUE(session->run(in, out));
    EXPECT_EQ(y[4], 1.F);
    EXPECT_EQ(y[5], 2.F);
  }
}

}  // namespace
}  // namespace sheaf
