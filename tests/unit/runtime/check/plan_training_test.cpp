// Training programs in plans: what is read back, what is refused, where.
#include "runtime/bind/chunk.h"
#include "runtime/check/reader.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sheaf {
namespace {

using samples::batch;
using testing::HasSubstr;

using samples::training_plan;

using enum samples::trained::Value;
using enum samples::trained::Step;

void refuse_trained(const std::function<void(Plan&)>& change, const std::string& path, const std::string& reason) {
  expect_refused(training_plan(), change, path, reason);
}

TEST(PlanTraining, IsReadBackAsItWasWritten) {
  const Plan plan = training_plan();
  ASSERT_EQ(problem(plan), "");
  const std::string text = serialize(plan);
  EXPECT_THAT(text, HasSubstr("\"version\": \"1.5\""));
  const auto read = parse_plan("m.plan", text);
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_EQ(serialize(*read), text);
  EXPECT_EQ(read->train.steps[backward].phase, Phase::backward);
  EXPECT_EQ(read->train.steps[update].phase, Phase::update);
  EXPECT_EQ(read->train.values[dweight].purpose, Value::Purpose::gradients);
  EXPECT_EQ(read->state.size(), 1U);
  EXPECT_EQ(read->state[0].init, plan.state[0].init);
  EXPECT_EQ(read->train.symbols[2].kind, Symbol::offset);
  EXPECT_EQ(read->train.symbols[2].of, batch());
  EXPECT_EQ(read->train.values[lr].role, Value::setting);
  EXPECT_EQ(read->train.values[momentum].role, Value::state);
  EXPECT_EQ(read->train.values[t].role, Value::target);
  ASSERT_EQ(read->train.updates.size(), 3U);
  EXPECT_EQ(read->train.updates[1].name, plan.state[0].name);
  EXPECT_EQ(read->train.updates[1].value, new_m);
  EXPECT_EQ(read->train_graph.steps.size(), plan.train.steps.size());
}

TEST(PlanTraining, PlansWithoutItHaveNoneOfItsFields) {
  const std::string text = serialize(samples::sample_plan());
  for (const char* field : {"\"state\"", "\"train\"", "\"updates\""}) EXPECT_THAT(text, testing::Not(HasSubstr(field)));
  ASSERT_TRUE(parse_plan("m.plan", text));
}

TEST(PlanTraining, RefusesAStepThatReadsALaterPhase) {
  refuse_trained([](Plan& p) { p.train.steps[make_dy].phase = Phase::update; }, "programs.train.steps[7]",
                 "'dy' is made in a later phase of the step, update");
}

TEST(PlanTraining, RefusesUnknownFieldsAndNames) {
  const Json document = Json::parse(serialize(training_plan()));
  const auto error_of = [&](const std::function<void(Json&)>& change) {
    Json changed = document;
    change(changed);
    changed.erase("sha256");
    const std::string digest = sha256(changed.dump());
    changed["sha256"] = digest;
    const auto plan = parse_plan("m.plan", changed.dump());
    return plan ? "no error" : to_string(plan.error());
  };
  EXPECT_EQ(error_of([](Json&) {}), "no error");
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["updates"][0]["when"] = 1; }),
              HasSubstr("programs.train.updates[0]"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["updates"][0]["value"] = "w"; }),
              HasSubstr("programs.train.updates[0].value"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["updates"][0].erase("name"); }),
              HasSubstr("programs.train.updates[0]"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["updates"] = 7; }), HasSubstr("programs.train.updates"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["evaluate"] = d["programs"]["train"]; }), HasSubstr("programs"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["values"][2]["role"] = "knob"; }),
              HasSubstr("programs.train.values[2].role: unknown role 'knob'"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["symbols"][2]["kind"] = "start"; }),
              HasSubstr("unknown kind of symbol 'start'"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["steps"][update]["phase"] = "later"; }),
              HasSubstr("unknown phase 'later'"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["values"][dweight]["purpose"] = "fun"; }),
              HasSubstr("unknown purpose 'fun'"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["values"][weight]["purpose"] = "gradients"; }),
              HasSubstr("what a value that a step doesn't make is for, its role says"));
  EXPECT_THAT(error_of([](Json& d) { d["programs"]["train"]["symbols"][2].erase("of"); }),
              HasSubstr("programs.train.symbols[2]"));
  EXPECT_THAT(error_of([](Json& d) { d["state"][0]["shape"] = {-1}; }), HasSubstr("state[0].shape"));
  EXPECT_THAT(error_of([](Json& d) { d["state"] = "none"; }), HasSubstr("state"));
}

TEST(PlanTraining, RefusesUpdatesThatDoNotFit) {
  refuse_trained([](Plan& p) { p.train.updates[0].name = "net.module.wait"; }, "programs.train.updates[0]",
                 "there is no parameter");
  refuse_trained([](Plan& p) { p.train.updates[2] = p.train.updates[0]; }, "programs.train.updates[2]", "a second update");
  refuse_trained([](Plan& p) { p.train.updates[0].value = -1; }, "programs.train.updates[0]", "there is no value -1");
  refuse_trained([](Plan& p) { p.train.updates[0].value = 1000; }, "programs.train.updates[0]", "there is no value 1000");
  refuse_trained([](Plan& p) { p.train.updates[0].value = first; }, "programs.train.updates[0]", "another dtype or shape");
  refuse_trained([](Plan& p) { p.train.updates[0].value = dweights; }, "programs.train.updates[0]", "lives in a region");
  refuse_trained([](Plan& p) { p.train_graph.updates[1].name = ""; }, "graphs.train.updates[1]", "there is no parameter");
  refuse_trained([](Plan& p) { p.infer.updates = {{"net.module.weight", 0}}; }, "programs.infer.updates",
                 "only a training program");
}

TEST(PlanTraining, RefusesStateAndSettings) {
  const auto value = [](Plan& p, int i) -> Value& { return p.train.values[size_t(i)]; };
  refuse_trained([](Plan& p) { p.state[0].init = {{"type", "normal"}}; }, "state[0]", "'init' must be");
  refuse_trained([](Plan& p) { p.state[0].init = {{"type", "constant"}, {"value", "0"}}; }, "state[0]", "'init' must be");
  refuse_trained([](Plan& p) { p.state[0].init = {{"type", "constant"}, {"value", 0}, {"zero_row", 9}}; }, "state[0]",
                 "'init' must be");
  refuse_trained([](Plan& p) { p.state[0].init = Json::array(); }, "state[0]", "'init' must be");
  refuse_trained([](Plan& p) { p.state[0].dtype = DType::int64; }, "state[0]", "float32");
  refuse_trained([](Plan& p) { p.state[0].buffer = true; }, "state[0]", "neither a buffer");
  refuse_trained([](Plan& p) { p.state[0].aliases = {"m"}; }, "state[0]", "neither a buffer");
  refuse_trained([](Plan& p) { p.state[0].shape = {kLargestDim, kLargestDim}; }, "state[0]", "too large");
  refuse_trained([](Plan& p) { p.state.push_back(p.state[0]); }, "state[1]", "a second");
  refuse_trained([](Plan& p) { p.state[0].name = "tied.weight"; }, "state[0]", "is a parameter's name");
  refuse_trained([&](Plan& p) { value(p, momentum).source = "net.module.weight"; }, "programs.train.values[6]",
                 "there is no state");
  refuse_trained([&](Plan& p) { value(p, weight).source = p.state[0].name; }, "programs.train.values[4]",
                 "there is no parameter");
  refuse_trained([&](Plan& p) { value(p, momentum).shape = {5, 2}; }, "programs.train.values[6]", "another dtype or shape");
  refuse_trained([&](Plan& p) { value(p, lr).name = "bias_correction1"; }, "programs.train.values[2]",
                 "there is no setting 'bias_correction1'; a plan of another sheaf is made anew by `sheaf compile`");
  refuse_trained([&](Plan& p) { value(p, lr).shape = {1}; }, "programs.train.values[2]", "is float32 without dimensions");
  refuse_trained([&](Plan& p) { value(p, step_).dtype = DType::float32; }, "programs.train.values[3]",
                 "is int64 without dimensions");
  refuse_trained([&](Plan& p) { value(p, lr).place = {Place::device, 0}; }, "programs.train.values[2]", "on the host");
  refuse_trained([](Plan& p) { p.infer.values[0].role = Value::setting; }, "programs.infer.values[0]",
                 "only a training program");
  refuse_trained([](Plan& p) { p.infer.values[0].role = Value::state; }, "programs.infer.values[0]", "only a training program");
}

TEST(PlanTraining, RefusesProgramsThatAreNotTraining) {
  refuse_trained([](Plan& p) { p.training = nullptr; }, "training", "optimizer");
  refuse_trained([](Plan& p) { p.training["optimizer"] = "SGD"; }, "training", "optimizer");
  refuse_trained([](Plan& p) { p.train.outputs[0].name = "cost"; }, "programs.train.outputs", "'loss'");
  refuse_trained([](Plan& p) { p.train.outputs.push_back({"y", whole}); }, "programs.train.outputs", "one output");
  refuse_trained([](Plan& p) { p.train.outputs[0].value = whole; }, "programs.train.outputs[0]", "without dimensions");
  refuse_trained([](Plan& p) { p.train.outputs[0].value = lr; }, "programs.train.outputs[0]", "made by a step");
  refuse_trained([](Plan& p) { p.train.outputs[0].value = -3; }, "programs.train.outputs[0]", "there is no value -3");
  refuse_trained([](Plan& p) { p.train.steps.clear(); }, "programs.train.steps", "needs steps");
  refuse_trained([](Plan& p) { p.train = {}; }, "state", "no training program");
  refuse_trained([](Plan& p) { p.train = {}, p.state.clear(); }, "graphs.train", "no training program");
}

TEST(PlanTraining, RefusesMovementsThatDoNotFit) {
  const auto at = [](Plan& p, int i) -> Step& { return p.train.steps[size_t(i)]; };
  const auto value = [](Plan& p, int i) -> Value& { return p.train.values[size_t(i)]; };
  refuse_trained([&](Plan& p) { value(p, dpart).shape = {5, 2}; }, "programs.train.steps[7]",
                 "expected region 0's chunk of batch");
  refuse_trained([&](Plan& p) { value(p, dpart).shape = {Extent::symbol("rows", 2), 2}; }, "programs.train.steps[7]",
                 "chunk of batch");
  refuse_trained([&](Plan& p) { at(p, scatter_scalars).attributes.erase("scalar"); }, "programs.train.steps[8]",
                 "'scalar' must be true");
  refuse_trained([&](Plan& p) { at(p, scatter_back).attributes["scalar"] = true; }, "programs.train.steps[7]",
                 "'scalar' must be true");
  refuse_trained([&](Plan& p) { at(p, scatter_scalars).attributes["scalar"] = 1; }, "programs.train.steps[8]", "true or false");
  refuse_trained([&](Plan& p) { value(p, scalars).shape = {batch()}; }, "programs.train.steps[8]", "expected region 0's chunk");
  refuse_trained([&](Plan& p) { at(p, reduce).attributes["region"] = 1; }, "programs.train.steps[10]", "'region' is not that");
  refuse_trained([&](Plan& p) { at(p, reduce).attributes["dim"] = 0; }, "programs.train.steps[10]", "no attribute 'dim'");
  refuse_trained([&](Plan& p) { at(p, reduce).attributes.erase("region"); }, "programs.train.steps[10]", "'region'");
  refuse_trained([&](Plan& p) { value(p, dweight).shape = {5, 2}; }, "programs.train.steps[10]", "expected [2, 5]");
  refuse_trained([&](Plan& p) { value(p, dweight).dtype = DType::int64; }, "programs.train.steps[10]", "dtype");
  refuse_trained([&](Plan& p) { at(p, reduce).inputs = {weight}; }, "programs.train.steps[10]", "takes a value of a region");
  refuse_trained([&](Plan& p) { at(p, reduce).inputs = {dweights, dweights}, at(p, reduce).roles = {"x", "y"}; },
                 "programs.train.steps[10]", "takes 1 inputs");
  refuse_trained([&](Plan& p) { at(p, make_first).place = {Place::region, 0}, value(p, first).place = {Place::region, 0}; },
                 "programs.train.steps[12]", "outside of regions");
}

TEST(PlanTraining, RefusesOffsets) {
  const auto symbol = [](Plan& p) -> Symbol& { return p.train.symbols[2]; };
  refuse_trained([&](Plan& p) { symbol(p).of = batch(2); }, "programs.train.symbols[2]", "no chunks of 2*batch");
  refuse_trained([&](Plan& p) { symbol(p).of = Extent::symbol("rows"); }, "programs.train.symbols[2]", "'rows'");
  refuse_trained([&](Plan& p) { symbol(p).region = 3; }, "programs.train.symbols[2]", "no such region");
  refuse_trained([](Plan& p) { p.train.values[part].shape = {Extent::symbol("begin"), 5}; }, "programs.train.values[7]",
                 "is no size");
  refuse_trained([](Plan& p) { p.train.values[whole].shape = {Extent::symbol("begin"), 2}; }, "programs.train.values[10]",
                 "an offset");
  refuse_trained([](Plan& p) { p.train.steps[make_dy].attributes["extents"] = {"begin"}; }, "programs.train.steps[6]",
                 "an offset of region 0");
}

TEST(PlanTraining, OffsetsAreWhereChunksBegin) {
  const Plan plan = training_plan();
  for (const auto& [rows, devices, begins] : std::vector<std::tuple<int64_t, int64_t, std::vector<int64_t>>>{
           {10, 3, {0, 4, 8}}, {10, 8, {0, 2, 4, 6, 8}}, {7, 1, {0}}, {0, 4, {0}}, {2, 4, {0, 1}}}) {
    const auto table = SymbolTable::build(plan, plan.train, rows, std::vector<int64_t>{devices});
    ASSERT_TRUE(table) << to_string(table.error());
    ASSERT_EQ(table->replicas(0), static_cast<int64_t>(begins.size()));
    for (size_t i = 0; i < begins.size(); ++i) {
      const auto begin = table->evaluate(Extent::symbol("begin"), {Place::region, 0}, static_cast<int64_t>(i));
      ASSERT_TRUE(begin) << to_string(begin.error());
      EXPECT_EQ(*begin, begins[i]) << rows << " rows on " << devices;
    }
    EXPECT_FALSE(table->evaluate(Extent::symbol("begin"), {Place::region, 0}, static_cast<int64_t>(begins.size())));
    EXPECT_FALSE(table->evaluate(Extent::symbol("begin"), {}));
  }
}

}  // namespace
}  // namespace sheaf
