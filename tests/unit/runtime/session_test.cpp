// Plans bound and run through the C++ interface: chunks, device lists, empty batches, strange dims.
#include "plan_builder.h"
#include "variable_values.h"

#include "runtime/bind/binding.h"
#include "runtime/plan/check.h"
#include "runtime/sheaf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

std::vector<float> numbers(size_t count, int seed = 1) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7919 + size_t(seed) * 131) % 1021) / 512 - 1;
  return values;
}

Model load(PlanBuilder builder) {
  if (auto ok = check(builder.plan, "test.plan"); !ok) ADD_FAILURE() << to_string(ok.error());
  auto model = Model::from_plan(std::move(builder.plan));
  EXPECT_TRUE(model);
  EXPECT_TRUE(model->initialise_parameters(3));
  return *model;
}

size_t count_of(const std::vector<int64_t>& shape) {
  return static_cast<size_t>(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()));
}

/// Runs a model with one float input and returns all outputs.
std::vector<std::vector<float>> run(const Model& model, const std::string& devices, int64_t batch, int runs = 1) {
  auto session = model.bind(devices, batch);
  if (!session) {
    ADD_FAILURE() << to_string(session.error());
    return {};
  }
  std::vector<std::vector<float>> inputs, outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    inputs.push_back(numbers(count_of(session->input_shape(i)), static_cast<int>(i) + 1));
    inputs.back().resize(inputs.back().size() + 1);  // a place for empty ones
  }
  for (size_t i = 0; i < model.outputs().size(); ++i) outputs.emplace_back(count_of(session->output_shape(i)) + 1, -77.F);
  for (auto& values : inputs) in.push_back(values.data());
  for (auto& values : outputs) out.push_back(values.data());
  for (int i = 0; i < runs; ++i) {
    if (auto ok = session->run(in, out); !ok) ADD_FAILURE() << to_string(ok.error());
  }
  for (auto& values : outputs) {
    EXPECT_EQ(values.back(), -77.F) << "written beyond the end";
    values.pop_back();
  }
  return outputs;
}

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
  for (const OperationInfo& operation : session->info().operations) EXPECT_NE(operation.implementation, "copy");
  for (const LaneInfo& lane : session->info().lanes) EXPECT_LE(lane.arena_bytes, lane.arena_bound * 11 / 10);
}

TEST(Session, OutputDeviceOutsideTheGroupAndIdsInAnyOrder) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0), std::vector<int>{3, 1}));
  const Model straight = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  expect_near(run(model, "cpu:0-3", 11)[0], run(straight, "cpu", 11)[0], "ids 3, 1");
  auto session = model.bind("cpu:0-3", 11);
  ASSERT_TRUE(session);
  std::vector<std::string> lanes;
  for (const auto& operation : session->info().operations) {
    if (operation.op == "linear") lanes.push_back(operation.lane);
  }
  EXPECT_EQ(lanes, (std::vector<std::string>{"cpu:3", "cpu:1"}));
}

TEST(Session, ScatterAndGatherAlongDimensionOne) {
  for (int dim : {1, -1}) {
    PlanBuilder b;
    const int x = b.input("x", {3, b.batch()});
    const int r = b.region("net", b.batch(), {}, dim);
    const int part = b.scatter(x, r, dim, {3, b.chunk(r)});
    const int flat = b.step("view", {part}, "flat", {b.chunk(r, 3)}, b.in_region(r));
    const int back = b.step("view", {flat}, "back", {3, b.chunk(r)}, b.in_region(r));
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

TEST(Session, ScalarsAreGatheredToAVectorWithAWarning) {
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

TEST(Session, AValueThatIsOutputTwiceInputAndSlice) {
  // x itself is an output; y is one twice, and is read after it was gathered into; so is a parameter.
  PlanBuilder b = data_parallel_linear(4, 4, PlanBuilder::device(0));
  const int y = b.program.outputs[0].value, x = 0, w = 1, bias = 2;
  b.output("x", x);
  b.output("again", y);
  b.output("weight", w);
  const int on_host = b.step("transfer", {y}, "host_y", {b.batch(), 4}, b.host());
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
  // Three regions on different devices; each reads what the last one gathered: waits in both directions.
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
  // Values were given names twice over by replicate(); make them unique.
  for (size_t i = 0; i < b.program.values.size(); ++i) b.program.values[i].name += "#" + std::to_string(i);
  const Model model = load(b);
  for (int64_t batch : {1, 2, 3, 8, 64}) {
    const auto expected = run(model, "cpu", batch)[0];
    for (int i = 0; i < 20; ++i) expect_near(run(model, "cpu:0,cpu:1,cpu:2", batch, 5)[0], expected, "three devices");
  }
}

TEST(Session, PrintsALineForEachReplica) {
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
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre(
                         "\tIn Model: input size torch.Size([4, 5]) output size torch.Size([4, 2])\n",
                         "\tIn Model: input size torch.Size([4, 5]) output size torch.Size([4, 2])\n",
                         "\tIn Model: input size torch.Size([2, 5]) output size torch.Size([2, 2])\n"));
}

TEST(Session, ALayersLineComesBeforeWhatFollowsIt) {
  PlanBuilder b = data_parallel_linear(5, 2, PlanBuilder::device(0), {}, true);
  const int net = b.program.outputs[0].value;
  const int home = b.step("transfer", {net}, "home", {b.batch(), 2}, b.host());
  b.program.outputs[0].value = b.step("print", {home}, "outside", {b.batch(), 2}, b.host(), {{"text", "Outside"}});
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

TEST(Session, WeightsAreSharedByRemainderBindingsAndTakeEffectAtTheNextRun) {
  Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  auto whole = model.bind("cpu:0,cpu:1", 8), rest = model.bind("cpu:0,cpu:1", 3);
  ASSERT_TRUE(whole && rest);
  EXPECT_EQ(whole->info().parameter_bytes, rest->info().parameter_bytes);
  EXPECT_EQ(whole->info().parameter_bytes, 12 * sizeof(float));
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

TEST(SessionErrors, EveryParameterProblemIsListedInOneError) {
  Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  const std::vector<float> data(64, 1.F);
  const std::vector<TensorView> weights = {{"net.weight", DType::float32, {5, 2}, data.data()},
                                           {"other", DType::float32, {1}, data.data()},
                                           {"module.net.weight", DType::float32, {2, 5}, data.data()}};
  auto set = model.set_parameters(weights);
  ASSERT_FALSE(set);
  const std::string text = to_string(set.error());
  for (const char* part : {"superfluous: 'other'", "missing: 'net.module.bias'", "[5, 2]; expected float32 [2, 5]", "given twice"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_EQ(set.error().diagnostics.size(), 1U);
}

TEST(SessionErrors, TiedParametersUnderAllTheirNames) {
  PlanBuilder builder = data_parallel_linear(2, 2, PlanBuilder::device(0));
  builder.plan.parameters[0].aliases = {"decoder.module.weight"};
  Model model = load(std::move(builder));
  const std::vector<float> w(4, 1.F), other(4, 2.F), b(2, 0.F);
  const auto set = [&](std::vector<TensorView> weights) {
    weights.push_back({"net.bias", DType::float32, {2}, b.data()});
    auto done = model.set_parameters(weights);
    return done ? std::string() : to_string(done.error());
  };
  const auto weight = [](const char* name, const std::vector<float>& data, std::vector<int64_t> shape = {2, 2}) {
    return TensorView{name, DType::float32, std::move(shape), data.data()};
  };
  EXPECT_EQ(set({weight("net.weight", w)}), "");
  EXPECT_EQ(set({weight("decoder.weight", w)}), "");
  EXPECT_EQ(set({weight("decoder.weight", w), weight("net.weight", w)}), "");
  EXPECT_THAT(set({weight("decoder.weight", w), weight("net.weight", other)}), HasSubstr("tied, but of different values"));
  const std::string misshapen = set({weight("decoder.weight", w), weight("net.weight", w, {4})});
  EXPECT_THAT(misshapen, HasSubstr("misshapen: 'net.weight' is float32 [4]"));
  EXPECT_THAT(misshapen, ::testing::Not(HasSubstr("missing")));
}

TEST(SessionErrors, AnIndexBeyondTheListIsLocatedInTheModel) {
  const Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0), std::vector<int>{0, 2}));
  auto session = model.bind("cpu:0,cpu:1", 4);
  ASSERT_FALSE(session);
  EXPECT_THAT(to_string(session.error()), HasSubstr("model.json:7:3: error: layer 'net': device id 2"));
  PlanBuilder placed;
  const int x = placed.input("x", {placed.batch(), 2});
  const int there = placed.step("transfer", {x}, "there", {placed.batch(), 2}, placed.device(3));
  placed.program.steps.back().location = {"model.json", 12, 5};
  placed.output("y", placed.step("view", {there}, "y", {placed.batch(2)}, placed.device(3)));
  auto beyond = load(placed).bind("cpu:0,cpu:1", 4);
  ASSERT_FALSE(beyond);
  EXPECT_THAT(to_string(beyond.error()), HasSubstr("model.json:12:5: error: layer 'there' is placed on device 3"));
  EXPECT_TRUE(model.bind("cpu:0-2", 4));
  EXPECT_TRUE(model.bind("cpu", 4));
}

TEST(SessionErrors, RunsThatCannotBe) {
  auto fresh = Model::from_plan(data_parallel_linear(5, 2, PlanBuilder::device(0)).plan);
  ASSERT_TRUE(fresh);
  auto session = fresh->bind("cpu:0", 4);
  ASSERT_TRUE(session);
  const auto x = numbers(20);
  std::vector<float> y(9);
  const void* in[] = {x.data()};
  void* out[] = {y.data()};
  auto ran = session->run(in, out);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("weights were never set"));
  ASSERT_TRUE(fresh->initialise_parameters(0));
  EXPECT_TRUE(session->run(in, out));
  ran = session->run({}, out);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message(), HasSubstr("needs 1 input and 1 output"));
  const void* nothing[] = {nullptr};
  EXPECT_FALSE(session->run(nothing, out));
  void* crooked[] = {reinterpret_cast<char*>(y.data()) + 1};
  EXPECT_FALSE(session->run(in, crooked));
  EXPECT_FALSE(fresh->bind("cpu:0", -1));
  EXPECT_FALSE(fresh->bind("gpu:0", 1));
  EXPECT_FALSE(fresh->bind("cuda:0", 1));
}

}  // namespace
}  // namespace sheaf
