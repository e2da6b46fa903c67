// The structure of plans: names, indices, order, places, symbols, sizes.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/check/plan_problem.h"
#include "tests/unit/runtime/check/plan_samples.h"

#include <gtest/gtest.h>

#include <functional>

namespace sheaf {
namespace {

using enum samples::SampleStep;
using enum samples::SampleValue;
using samples::batch;

TEST(PlanCheck, AcceptsTheSample) { EXPECT_EQ(problem(samples::sample_plan()), ""); }

TEST(PlanCheck, AcceptsAPlanWithoutLogicalProgram) {
  Plan plan = samples::sample_plan();
  plan.infer_graph = {};
  EXPECT_EQ(problem(plan), "");
}

TEST(PlanCheck, RefusesParts) {
  refuse_sample([](Plan& p) { p.precision = "f64"; }, "precision", "f64");
  refuse_sample([](Plan& p) { p.training = 3; }, "training", "expected an object");
  refuse_sample([](Plan& p) { p.regions.push_back(p.regions[0]); }, "regions[1]", "a second 'net'");
  refuse_sample([](Plan& p) { p.regions[0].name = ""; }, "regions[0]", "name");
  refuse_sample([](Plan& p) { p.regions[0].device_ids = {0, -1}; }, "regions[0]", "device_ids");
  refuse_sample([](Plan& p) { p.regions[0].device_ids->clear(); }, "regions[0]", "needs a device");
  refuse_sample([](Plan& p) { p.regions[0].output_device = 1 << 20; }, "regions[0]", "output_device");
  refuse_sample([](Plan& p) { p.regions[0].dim = 99; }, "regions[0]", "dim");
  refuse_sample([](Plan& p) { p.parameters[1].name = p.parameters[0].name; }, "parameters[1]", "a second");
  refuse_sample([](Plan& p) { p.parameters[0].shape[0] = -1; }, "parameters[0]", "dimension of -1");
  refuse_sample([](Plan& p) { p.parameters[0].shape = {kLargestDim, kLargestDim}; }, "parameters[0]", "too large");
  refuse_sample([](Plan& p) { p.parameters[0].shape = {0, kLargestDim, kLargestDim}; }, "parameters[0]", "too large");
  refuse_sample([](Plan& p) { p.parameters[0].shape.assign(kLargestRank + 1, 1); }, "parameters[0]", "more than 12");
  refuse_sample([](Plan& p) { p.parameters[0].aliases = {p.parameters[1].name}; }, "parameters[0].aliases",
                "no name of its own");
  refuse_sample([](Plan& p) { p.parameters[1].aliases = {"tied.weight"}; }, "parameters[1].aliases", "no name of its own");
  refuse_sample([](Plan& p) { p.parameters[0].init = 3; }, "parameters[0]", "init");
  refuse_sample([](Plan& p) { p.kernels.push_back(p.kernels[0]); }, "kernels[1]", "a second 'fold'");
  refuse_sample([](Plan& p) { p.kernels[0].name = "a b"; }, "kernels[0]", "can't name a kernel");
  refuse_sample([](Plan& p) { p.kernels[0].extents = -1; }, "kernels[0]", "extents");
  const auto on_gpu = [](int block, int items) {
    return [=](Plan& p) { p.kernels[0].gpu_block = block, p.kernels[0].gpu_items = items; };
  };
  refuse_sample(on_gpu(2048, 1), "kernels[0]", "1 to 1024 threads");
  refuse_sample(on_gpu(0, 1), "kernels[0]", "1 to 1024 threads");
  refuse_sample(on_gpu(256, 0), "kernels[0]", "one item at least");
  refuse_sample(on_gpu(256, 256), "objects", "no 'ptx' that holds their code");
  refuse_sample([](Plan& p) { p.objects[1].first = p.objects[0].first; }, "objects[1]", "a second");
  refuse_sample([](Plan& p) { p.objects[1].second = ""; }, "objects[1]", "empty");
  refuse_sample([](Plan& p) { p.objects.clear(); }, "objects", "no object");
}

TEST(PlanCheck, RefusesSymbols) {
  const auto symbols = [](Plan& p) -> auto& { return p.infer.symbols; };
  refuse_sample([&](Plan& p) { symbols(p).clear(); }, "programs.infer.symbols", "expected 1 to");
  refuse_sample([&](Plan& p) { symbols(p)[0].name = "rows"; }, "programs.infer.symbols[0]", "'batch'");
  refuse_sample([&](Plan& p) { symbols(p)[0].kind = Symbol::replicas; }, "programs.infer.symbols[0]", "first symbol");
  refuse_sample([&](Plan& p) { symbols(p)[1].kind = Symbol::batch; }, "programs.infer.symbols[1]", "first symbol");
  refuse_sample([&](Plan& p) { symbols(p)[2].name = "chunk"; }, "programs.infer.symbols[2]", "a second symbol");
  refuse_sample([&](Plan& p) { symbols(p)[2].name = "2*chunk"; }, "programs.infer.symbols[2]", "can't name");
  refuse_sample([&](Plan& p) { symbols(p)[2].name = "7"; }, "programs.infer.symbols[2]", "can't name");
  refuse_sample([&](Plan& p) { symbols(p)[1].region = 1; }, "programs.infer.symbols[1]", "no such region");
  refuse_sample([&](Plan& p) { symbols(p)[1].region = -1; }, "programs.infer.symbols[1]", "no such region");
  refuse_sample([&](Plan& p) { symbols(p).push_back({"again", Symbol::replicas, 0, {}}); }, "programs.infer.symbols[3]",
                "a second count");
  refuse_sample([&](Plan& p) { symbols(p)[1].of = Extent::symbol("chunk"); }, "programs.infer.symbols[1]",
                "isn't an earlier symbol");
  refuse_sample([&](Plan& p) { symbols(p).push_back({"c", Symbol::chunk, 0, Extent::symbol("chunk")}); },
                "programs.infer.symbols[3]", "a chunk of region 0");
  refuse_sample([&](Plan& p) { symbols(p).push_back({"c", Symbol::chunk, 0, Extent::symbol("replicas")}); },
                "programs.infer.symbols[3]", "can't determine its chunks");
  refuse_sample([&](Plan& p) { symbols(p)[1].of = batch(int64_t{1} << 41); }, "programs.infer.symbols[1]", "out of bounds");
  refuse_sample([&](Plan& p) { symbols(p)[1].of = Extent(-1); }, "programs.infer.symbols[1]", "out of bounds");
  refuse_sample(
      [&](Plan& p) {
        p.regions.push_back({"other", {}, {}, 0, {}});
        symbols(p).push_back({"others", Symbol::replicas, 1, {}});
        symbols(p).push_back({"c", Symbol::chunk, 0, Extent::symbol("others")});
        symbols(p).push_back({"d", Symbol::chunk, 1, Extent(4)});
      },
      "programs.infer.symbols[4]", "depends on a later symbol");
}

TEST(PlanCheck, RefusesValues) {
  const auto value = [](Plan& p, int i) -> Value& { return p.infer.values[static_cast<size_t>(i)]; };
  refuse_sample([&](Plan& p) { value(p, y).name = "x"; }, "programs.infer.values[9]", "a second value 'x'");
  refuse_sample([&](Plan& p) { value(p, y).name = ""; }, "programs.infer.values[9]", "needs a name");
  refuse_sample([&](Plan& p) { value(p, y).place = {Place::region, 1}; }, "programs.infer.values[9]", "no region 1");
  refuse_sample([&](Plan& p) { value(p, whole).place = {Place::device, 1 << 20}; }, "programs.infer.values[11]", "that long");
  refuse_sample([&](Plan& p) { value(p, y).shape[0] = Extent::symbol("lost"); }, "programs.infer.values[9]",
                "unknown symbol 'lost'");
  refuse_sample([&](Plan& p) { value(p, moved).shape[0] = Extent::symbol("chunk"); }, "programs.infer.values[5]",
                "a chunk of region 0");
  refuse_sample([&](Plan& p) { value(p, y).shape[1] = Extent(-2); }, "programs.infer.values[9]", "out of bounds");
  refuse_sample([&](Plan& p) { value(p, y).shape[1] = Extent(kLargestDim + 1); }, "programs.infer.values[9]", "out of bounds");
  refuse_sample([&](Plan& p) { value(p, y).shape = {kLargestDim, kLargestDim}; }, "programs.infer.values[9]", "too large");
  refuse_sample([&](Plan& p) { value(p, y).shape.assign(13, Extent(1)); }, "programs.infer.values[9]", "more than 12");
  refuse_sample([&](Plan& p) { value(p, x).place = {Place::region, 0}; }, "programs.infer.values[0]", "only what steps make");
  refuse_sample([&](Plan& p) { value(p, weight).source = "lost"; }, "programs.infer.values[1]", "no parameter 'lost'");
  refuse_sample([&](Plan& p) { value(p, weight).role = Value::buffer; }, "programs.infer.values[1]", "another role");
  refuse_sample([&](Plan& p) { value(p, weight).shape = {5, 2}; }, "programs.infer.values[1]", "another dtype or shape");
  refuse_sample([&](Plan& p) { value(p, weight).shape = {2}; }, "programs.infer.values[1]", "another dtype or shape");
  refuse_sample([&](Plan& p) { value(p, weight).shape = {batch(), 5}; }, "programs.infer.values[1]", "another dtype or shape");
  refuse_sample([&](Plan& p) { value(p, weight).dtype = DType::float16; }, "programs.infer.values[1]",
                "another dtype or shape");
  refuse_sample([&](Plan& p) { p.infer.values.push_back({"lost", DType::float32, {}, {}, Value::temporary, "", {}}); },
                "programs.infer.values[14]", "no step makes 'lost'");
}

TEST(PlanCheck, RefusesStepsThatAreOutOfOrderOrPlace) {
  const auto step = [](Plan& p, int i) -> Step& { return p.infer.steps[static_cast<size_t>(i)]; };
  refuse_sample([&](Plan& p) { std::swap(step(p, linear), step(p, view)); }, "programs.infer.steps[5]",
                "'y' is used before it is made");
  refuse_sample([&](Plan& p) { step(p, view).outputs = {y}; }, "programs.infer.steps[6]", "'y' is made a second time");
  refuse_sample([&](Plan& p) { step(p, view).outputs = {x}; }, "programs.infer.steps[6]", "'x' is made a second time");
  refuse_sample([&](Plan& p) { step(p, view).outputs = {flat, flat}; }, "programs.infer.steps[6]", "a second time");
  refuse_sample([&](Plan& p) { step(p, view).outputs = {}; }, "programs.infer.steps[6]", "needs an output");
  refuse_sample([&](Plan& p) { step(p, view).outputs = {-1}; }, "programs.infer.steps[6]", "no value -1");
  refuse_sample([&](Plan& p) { step(p, view).inputs = {14}; }, "programs.infer.steps[6]", "no value 14");
  refuse_sample([&](Plan& p) { step(p, view).roles = {}; }, "programs.infer.steps[6]", "0 roles for 1 inputs");
  refuse_sample([&](Plan& p) { step(p, view).op = Op::layer; }, "programs.infer.steps[6]", "needs an op");
  refuse_sample([&](Plan& p) { step(p, view).op = Op::layer, step(p, view).type = "teleport"; }, "programs.infer.steps[6]",
                "unknown operation 'teleport'");
  refuse_sample([&](Plan& p) { step(p, view).kernel = "fold"; }, "programs.infer.steps[6]", "only a step of op 'kernel'");
  refuse_sample([&](Plan& p) { step(p, view).place = {}; }, "programs.infer.steps[6]", "'y' is at region:0, the step at host");
  refuse_sample([&](Plan& p) { step(p, view).place = {Place::region, 7}; }, "programs.infer.steps[6]", "no region 7");
  refuse_sample([&](Plan& p) { step(p, linear).inputs[1] = weight; }, "programs.infer.steps[5]",
                "is at device:0, the step at region:0");
  refuse_sample([&](Plan& p) { step(p, transfer).once = true; }, "programs.infer.steps[1]", "'x' depends on the run's inputs");
  refuse_sample([&](Plan& p) { step(p, replicate_bias).once = true, step(p, fold).once = false; }, "programs.infer.steps[4]",
                "'folded' depends on the run's inputs");
}

TEST(PlanCheck, RefusesOutputs) {
  refuse_sample([](Plan& p) { p.infer.outputs.clear(); }, "programs.infer.outputs", "needs an output");
  refuse_sample([](Plan& p) { p.infer.outputs[1].name = "net"; }, "programs.infer.outputs[1]", "a name of its own");
  refuse_sample([](Plan& p) { p.infer.outputs[1].value = 99; }, "programs.infer.outputs[1]", "no value 99");
  refuse_sample([](Plan& p) { p.infer.outputs[1].value = y; }, "programs.infer.outputs[1]", "can't live in a region");
}

}  // namespace
}  // namespace sheaf
