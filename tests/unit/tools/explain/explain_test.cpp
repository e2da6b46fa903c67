// explain's output for small plans, with and without devices, and for unknown names.
#include "runtime/plan/op_list.h"
#include "tools/explain/explain.h"
#include "tools/explain/select.h"
#include "tests/fixtures/plan_builder.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// DataParallel(Linear(37, 19)) and its logical program, as the compiler writes both.
Plan sample() {
  PlanBuilder b = data_parallel_linear(37, 19, PlanBuilder::device(0));
  for (Step& step : b.program.steps) {
    if (step.op == Op::linear) {
      step.layer = "net.module.fc";
      step.location = {"model.json", 9, 5};
      step.notes = {"a library call: 703 weights"};
      step.fused = {"net.module.act"};
    } else {
      step.layer = "net";
      step.reason = to_string(step.op) + " asked for by 'net'";
    }
  }
  b.plan.infer_graph = b.plan.infer;
  Step act = b.plan.infer_graph.steps[3];
  act.op = Op::layer;
  act.type = "relu";
  act.layer = "net.module.act";
  act.inputs = b.plan.infer_graph.steps[3].outputs;
  act.roles = {"x"};
  act.notes.clear();
  b.plan.infer_graph.values.push_back(b.plan.infer_graph.values[size_t(act.inputs[0])]);
  b.plan.infer_graph.values.back().name = "act";
  act.outputs = {int(b.plan.infer_graph.values.size()) - 1};
  for (Step& step : b.plan.infer_graph.steps)
    if (step.op == Op::gather) step.inputs = act.outputs;
  b.plan.infer_graph.steps.insert(b.plan.infer_graph.steps.begin() + 4, act);
  return b.plan;
}

ExplainRequest on(std::vector<std::string> devices, int64_t batch) {
  ExplainRequest request;
  request.devices = std::move(devices);
  request.batch = batch;
  return request;
}

Explanation explained(const ExplainRequest& request) {
  static const Plan plan = sample();
  Result<Explanation> explanation = explain(plan, request);
  EXPECT_TRUE(explanation) << to_string(explanation.error());
  return explanation ? std::move(*explanation) : Explanation{};
}

std::vector<std::string> layers_of(const Explanation& explanation) {
  std::vector<std::string> names;
  for (const ExplainedLayer& layer : explanation.layers) names.push_back(layer.layer);
  return names;
}

std::string refused(const ExplainRequest& request) {
  static const Plan plan = sample();
  Result<Explanation> explanation = explain(plan, request);
  EXPECT_FALSE(explanation);
  return explanation ? "" : to_string(explanation.error());
}

TEST(Explain, the_plan_alone) {
  const Explanation all = explained({});
  EXPECT_THAT(layers_of(all), ElementsAre("net", "net.module.fc", "net.module.act"));
  const ExplainedLayer &fc = all.layers[1], &act = all.layers[2];
  ASSERT_EQ(fc.steps.size(), 1U);
  EXPECT_TRUE(fc.steps[0].owned);
  EXPECT_TRUE(fc.steps[0].operations.empty());
  ASSERT_EQ(act.steps.size(), 1U);
  EXPECT_FALSE(act.steps[0].owned);
  const std::string text = print_text(all);
  EXPECT_THAT(text, HasSubstr("by operation linear, which does the work of net.module.act too"));
  EXPECT_THAT(text, HasSubstr("- a library call: 703 weights"));
  EXPECT_THAT(text, HasSubstr("within the operation linear of layer 'net.module.fc'"));
  EXPECT_THAT(text, HasSubstr("With --devices and --batch"));
}

TEST(Explain, bound_to_devices) {
  const Explanation all = explained(on({"cpu:0", "cpu:1"}, 64));
  const ExplainedLayer& fc = all.layers[1];
  ASSERT_EQ(fc.nodes.size(), 2U);
  ASSERT_EQ(fc.steps[0].operations.size(), 1U) << "replicas of equal chunks are alike";
  const ExplainedOperation& linear = fc.steps[0].operations[0];
  EXPECT_THAT(linear.devices, ElementsAre("cpu:0", "cpu:1"));
  EXPECT_THAT(linear.replicas, ElementsAre(0, 1));
  EXPECT_FALSE(linear.implementation.empty());
  EXPECT_THAT(linear.reason, HasSubstr("oneDNN's first choice"));
  EXPECT_TRUE(linear.reason.find("passed over") != std::string::npos || linear.reason.find("no other") != std::string::npos);
  ASSERT_EQ(linear.inputs.size(), 3U);
  EXPECT_EQ(linear.inputs[1].role, "weight");
  EXPECT_TRUE(linear.inputs[1].from_weights);
  EXPECT_FALSE(linear.inputs[0].from_weights);
  EXPECT_EQ(linear.inputs[0].tensor.dims, (std::vector<int64_t>{32, 37}));
  EXPECT_GE(linear.cost.flops, 2.0 * 32 * 37 * 19);
  EXPECT_GE(linear.cost.read_bytes, 4.0 * (32 * 37 + 37 * 19 + 19));
  // Chunks are views of one memory: nothing runs for the scatter, and explain says so.
  EXPECT_FALSE(all.layers[0].steps[0].idle.empty());
}

TEST(Explain, unequal_chunks_are_told_apart) {
  const Explanation all = explained(on({"cpu:0", "cpu:1"}, 65));
  const auto& operations = all.layers[1].steps[0].operations;
  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0].inputs[0].tensor.dims[0] + operations[1].inputs[0].tensor.dims[0], 65);
}

TEST(Explain, small_products_run_in_a_loop_and_say_why) {
  const Explanation all = explained(on({"cpu:0", "cpu:1"}, 2));
  const ExplainedOperation& linear = all.layers[1].steps[0].operations.at(0);
  EXPECT_EQ(linear.implementation, "loop");
  EXPECT_THAT(linear.reason, HasSubstr("703 multiplications, at most 2048"));
}

TEST(Explain, every_operation_has_a_reason) {
  for (const char* devices : {"cpu", "cpu:0"})
    for (const ExplainedLayer& layer : explained(on({devices}, 30)).layers)
      for (const ExplainedStep& step : layer.steps)
        for (const ExplainedOperation& operation : step.operations)
          EXPECT_TRUE(!operation.reason.empty() || operation.op == Op::copy || operation.implementation == "in place")
              << layer.layer << " " << to_string(operation.op);
}

TEST(Explain, selections) {
  ExplainRequest request = on({"cpu:0", "cpu:1"}, 64);
  for (const char* name : {"net.module.fc", "net.fc", "fc"}) {
    request.layer = name;
    EXPECT_THAT(layers_of(explained(request)), ElementsAre("net.module.fc")) << name;
  }
  request.layer = "net.module";
  EXPECT_THAT(layers_of(explained(request)), ElementsAre("net.module.fc", "net.module.act"));
  request.layer = "";
  request.op = "scatter";
  EXPECT_THAT(layers_of(explained(request)), ElementsAre("net"));
  request.op = "linear";
  EXPECT_THAT(layers_of(explained(request)), ElementsAre("net.module.fc", "net.module.act"));
  request.op = "";
  request.device = "cpu:1";
  const Explanation second = explained(request);
  EXPECT_THAT(layers_of(second), ElementsAre("net.module.fc", "net.module.act"));
  EXPECT_EQ(second.layers[0].nodes.size(), 1U);
}

TEST(Explain, unknown_names_get_a_suggestion) {
  ExplainRequest request;
  request.layer = "net.module.fd";
  EXPECT_THAT(refused(request), HasSubstr("no layer 'net.module.fd'; did you mean 'net.module.fc'?"));
  request.layer = "";
  request.op = "liner";
  EXPECT_THAT(refused(request), HasSubstr("did you mean 'linear'?"));
  request = on({"cpu:0", "cpu:1"}, 8);
  request.device = "cpu:7";
  EXPECT_THAT(refused(request), HasSubstr("has the device 'cpu:7'"));
  request = {};
  request.devices = {"cpu:0"};
  EXPECT_THAT(refused(request), HasSubstr("together"));
  request = {};
  request.program = "train";
  EXPECT_THAT(refused(request), HasSubstr("holds no program 'train'"));
}

TEST(Why, a_chain_from_the_model_file_on) {
  const Plan plan = sample();
  Result<Why> scatter = why(plan, on({"cpu:0", "cpu:1"}, 30), "s0");
  ASSERT_TRUE(scatter) << to_string(scatter.error());
  const std::string text = print_text(*scatter);
  EXPECT_THAT(text, HasSubstr("model.json:7:3: DataParallel layer 'net' with device_ids null"));
  EXPECT_THAT(text, HasSubstr("scatter asked for by 'net'."));
  EXPECT_THAT(text, HasSubstr("  before  x: 30×37 f32 on host, made by in0"));
  EXPECT_THAT(text, HasSubstr("15×37 f32 on each replica of 'net'"));
  EXPECT_THAT(scatter->chain.back(), HasSubstr("linear net.module.fc on cpu:1, replica 1"));

  Result<Why> layer = why(plan, {}, "s3");
  ASSERT_TRUE(layer);
  EXPECT_THAT(print_text(*layer), HasSubstr("model.json:9:5: layer 'net.module.fc'."));
  Result<Why> replica = why(plan, on({"cpu:0", "cpu:1"}, 30), "s3_r1");
  ASSERT_TRUE(replica);
  EXPECT_THAT(print_text(*replica), HasSubstr("this is replica 1, on cpu:1"));
  for (const char* id : {"in0", "out0"}) EXPECT_TRUE(why(plan, {}, id)) << id;
}

TEST(Why, unknown_nodes) {
  const Plan plan = sample();
  Result<Why> symbolic = why(plan, on({"cpu:0", "cpu:1"}, 30), "s3");
  ASSERT_FALSE(symbolic);
  EXPECT_THAT(to_string(symbolic.error()), HasSubstr("s3_r0"));
  Result<Why> nothing = why(plan, {}, "s99");
  ASSERT_FALSE(nothing);
  EXPECT_THAT(to_string(nothing.error()), HasSubstr("has the id 's99'"));
}

TEST(SelectLayers, ends_of_names) {
  const std::vector<std::string> known = {"net.module.a.conv1", "net.module.b.conv1", "head"};
  EXPECT_EQ(select_layers(known, "conv1")->size(), 2U);
  EXPECT_EQ(select_layers(known, "b.conv1")->size(), 1U);
  EXPECT_EQ(select_layers(known, "net")->size(), 2U);
  EXPECT_THAT(to_string(select_layers(known, "cnov1").error()), HasSubstr("did you mean 'conv1'?"));
  EXPECT_FALSE(select_layers(known, "onv1"));
  const std::vector<std::string> deep = {"net.module.features.0", "net.module.features.1.act", "net.module.classifier",
                                         "net.module.blocks.0.tok.fc1"};
  EXPECT_EQ(*select_layers(deep, "blocks.0.tok"), std::set<std::string>{deep[3]});
  EXPECT_EQ(select_layers(deep, "features")->size(), 2U);
  const auto message = [&](const char* pattern) { return to_string(select_layers(deep, pattern).error()); };
  EXPECT_THAT(message("featres.0"), HasSubstr("did you mean 'features.0'?"));
  EXPECT_THAT(message("classifer"), HasSubstr("did you mean 'classifier'?"));
  EXPECT_THAT(message("features.9"), HasSubstr("did you mean 'features.0'?"));
  EXPECT_THAT(message("net.module.blocks.0.toc"), HasSubstr("did you mean 'net.module.blocks.0.tok'?"));
  EXPECT_THAT(message("blokcs"), HasSubstr("did you mean 'blocks'?"));
}

}  // namespace
}  // namespace sheaf
