// Sessions that cannot be bound or run, and weights that cannot be set.
#include "runtime/plan/op_list.h"
#include "tests/fixtures/session_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

TEST(SessionErrors, EveryParameterProblemIsListedInOneError) {
  Model model = load(data_parallel_linear(5, 2, PlanBuilder::device(0)));
  const std::vector<float> data(64, 1.F);
  const std::vector<TensorView> weights = {{"net.weight", DType::float32, {5, 2}, data.data()},
                                           {"other", DType::float32, {1}, data.data()},
                                           {"module.net.weight", DType::float32, {2, 5}, data.data()}};
  auto set = model.set_parameters(weights);
  ASSERT_FALSE(set);
  const std::string text = to_string(set.error());
  for (const char* part :
       {"superfluous: 'other'", "missing: 'net.module.bias'", "[5, 2]; expected float32 [2, 5]", "given twice"}) {
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
  const int there = placed.step(Op::transfer, {x}, "there", {placed.batch(), 2}, placed.device(3));
  placed.program.steps.back().location = {"model.json", 12, 5};
  placed.output("y", placed.step(Op::view, {there}, "y", {placed.batch(2)}, placed.device(3)));
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
