// Rules of data movement in plans: scatter, replicate, gather and transfer, their places and sizes.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sheaf {
namespace {

using enum samples::SampleStep;
using enum samples::SampleValue;
using samples::batch;
using testing::HasSubstr;

TEST(PlanMovement, RefusesDataMovement) {
  const auto step = [](Plan& p, int i) -> Step& { return p.infer.steps[static_cast<size_t>(i)]; };
  const auto value = [](Plan& p, int i) -> Value& { return p.infer.values[static_cast<size_t>(i)]; };
  refuse_sample([&](Plan& p) { step(p, scatter).attributes["dim"] = 2; }, "programs.infer.steps[2]",
                "'dim' must be an integer from -2 to 1");
  refuse_sample([&](Plan& p) { step(p, scatter).attributes["dim"] = 1; }, "programs.infer.steps[2]",
                "expected region 0's chunk of 5");
  refuse_sample([&](Plan& p) { step(p, scatter).attributes["region"] = 1; }, "programs.infer.steps[2]", "'region'");
  refuse_sample([&](Plan& p) { step(p, scatter).attributes.erase("dim"); }, "programs.infer.steps[2]", "'dim' is missing");
  refuse_sample([&](Plan& p) { step(p, scatter).attributes["dims"] = 1; }, "programs.infer.steps[2]", "no attribute 'dims'");
  refuse_sample([&](Plan& p) { step(p, scatter).inputs = {x, x}, step(p, scatter).roles = {"x", "y"}; },
                "programs.infer.steps[2]", "takes 1 inputs");
  refuse_sample([&](Plan& p) { step(p, scatter).op = Op::replicate, step(p, scatter).attributes.erase("dim"); },
                "programs.infer.steps[2]", "shape");
  refuse_sample([&](Plan& p) { p.infer.symbols[1].of = batch(2); }, "programs.infer.steps[2]", "chunk of batch");
  refuse_sample([&](Plan& p) { value(p, part).shape[1] = Extent(4); }, "programs.infer.steps[2]", "expected [chunk, 5]");
  refuse_sample([&](Plan& p) { value(p, part).shape = {Extent::symbol("chunk")}; }, "programs.infer.steps[2]",
                "expected 2 dimensions");
  refuse_sample([&](Plan& p) { value(p, part).dtype = DType::int32; }, "programs.infer.steps[2]", "dtype");
  refuse_sample([&](Plan& p) { value(p, weights).shape = {5, 2}; }, "programs.infer.steps[3]", "expected [2, 5]");
  refuse_sample([&](Plan& p) { step(p, gather).attributes["dim"] = 1; }, "programs.infer.steps[7]", "'dim'");
  refuse_sample([&](Plan& p) { value(p, whole).shape = {batch()}; }, "programs.infer.steps[7]", "expected [2*batch]");
  refuse_sample([&](Plan& p) { step(p, gather).attributes["scalar"] = true; }, "programs.infer.steps[7]", "'scalar'");
  refuse_sample([&](Plan& p) { step(p, gather).inputs = {moved}; }, "programs.infer.steps[7]", "takes a value of a region");
  refuse_sample([&](Plan& p) { step(p, gather).op = Op::transfer, step(p, gather).attributes = Json::object(); },
                "programs.infer.steps[7]", "doesn't enter or leave a region");
  refuse_sample([&](Plan& p) { value(p, copies).shape = {2}; }, "programs.infer.steps[8]", "expected [2*replicas]");
  refuse_sample(
      [&](Plan& p) {
        value(p, copies).shape = {2};
        p.infer.symbols.pop_back();
      },
      "programs.infer.steps[8]", "no sum that is linear");
  refuse_sample([&](Plan& p) { value(p, moved).shape = {5, batch()}; }, "programs.infer.steps[1]", "expected [batch, 5]");
  refuse_sample([&](Plan& p) { p.infer_graph.steps[0].attributes["dim"] = 1; }, "graphs.infer.steps[0]", "chunk of 5");
}

/// A value split in region 0 goes on in region 1.
Plan two_regions() {
  Plan plan;
  plan.regions = {{"a", {}, {}, 0, {}}, {"b", {}, {}, 0, {}}};
  Program& program = plan.infer;
  program.symbols = {{"batch", Symbol::batch, -1, {}}, {"ca", Symbol::chunk, 0, batch()}, {"cb", Symbol::chunk, 1, batch()}};
  samples::ProgramBuilder builder(program);
  const int in = builder.value("x", {batch()}, {}, Value::input);
  const int a = builder.value("a", {Extent::symbol("ca")}, {Place::region, 0});
  const int b = builder.value("b", {Extent::symbol("cb")}, {Place::region, 1});
  const int out = builder.value("y", {batch()});
  builder.step(Op::scatter, {{"x", in}}, {a}, {{"dim", 0}, {"region", 0}}, {Place::region, 0});
  builder.step(Op::transfer, {{"x", a}}, {b}, Json::object(), {Place::region, 1});
  builder.step(Op::gather, {{"x", b}}, {out}, {{"dim", 0}, {"region", 1}});
  builder.output("y", out);
  return plan;
}

TEST(PlanMovement, ATransferBetweenRegionsNeedsTheSameDevicesAndChunks) {
  EXPECT_EQ(problem(two_regions()), "");
  Plan plan = two_regions();
  plan.regions[1].device_ids = {0, 1};
  EXPECT_THAT(problem(plan), HasSubstr("the same device_ids"));
  plan = two_regions();
  plan.infer.symbols[2].of = batch(2);
  EXPECT_THAT(problem(plan), HasSubstr("the same chunks"));
  plan = two_regions();
  plan.infer.values[1].shape = {Extent(3)};
  plan.infer.values[2].shape = {Extent(3)};
  plan.infer.values[0].shape = {Extent(3)};
  plan.infer.steps[0].op = Op::replicate;
  plan.infer.steps[0].attributes.erase("dim");
  EXPECT_THAT(problem(plan), HasSubstr("takes a value that is split"));
}

TEST(PlanMovement, AScalarOfEachReplicaBecomesAVector) {
  Plan plan = two_regions();
  plan.infer.symbols.push_back({"n", Symbol::replicas, 1, {}});
  plan.infer.values.push_back({"s", DType::float32, {}, {Place::region, 1}, Value::temporary, "", {}});
  plan.infer.values.push_back({"v", DType::float32, {Extent::symbol("n")}, {}, Value::temporary, "", {}});
  plan.infer.values.push_back({"in", DType::float32, {}, {}, Value::input, "", {}});
  samples::ProgramBuilder builder(plan.infer);
  builder.step(Op::replicate, {{"x", 6}}, {4}, {{"region", 1}}, {Place::region, 1});
  builder.step(Op::gather, {{"x", 4}}, {5}, {{"dim", 0}, {"region", 1}, {"scalar", true}});
  EXPECT_EQ(problem(plan), "");
  plan.infer.steps.back().attributes.erase("scalar");
  EXPECT_THAT(problem(plan), HasSubstr("'scalar' must be true"));
}

}  // namespace
}  // namespace sheaf
