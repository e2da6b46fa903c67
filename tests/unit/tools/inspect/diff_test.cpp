// The difference of two plans: what came, went and changed, in every format.
#include "tools/inspect/diff.h"
#include "tools/inspect/dump.h"
#include "tests/unit/tools/inspect/dumped.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

GraphDiff compared(const Plan& before, const Plan& after, const DumpOptions& options = {}) {
  Result<PlacementGraph> a = placement_graph(before, options), b = placement_graph(after, options);
  EXPECT_TRUE(a && b);
  return diff({"old", *a, layer_operations(before.infer)}, {"new", *b, layer_operations(after.infer)});
}

std::vector<std::string> with(const GraphDiff& difference, NodeChange change) {
  std::vector<std::string> found;
  for (const NodeDiff& node : difference.nodes) {
    if (node.change != change) continue;
    const PlacementNode& shown =
        node.after >= 0 ? difference.after.graph.nodes[size_t(node.after)] : difference.before.graph.nodes[size_t(node.before)];
    found.push_back(shown.op + " " + (shown.layer.empty() ? shown.name : shown.layer) +
                    (shown.replica >= 0 ? " " + std::to_string(shown.replica) : ""));
  }
  return found;
}

std::vector<std::string> properties(const GraphDiff& difference, const std::string& layer) {
  std::vector<std::string> found;
  for (const NodeDiff& node : difference.nodes)
    if (node.after >= 0 && difference.after.graph.nodes[size_t(node.after)].layer == layer)
      for (const PropertyChange& property : node.properties)
        found.push_back(property.what + ": " + property.before + " > " + property.after);
  return found;
}

Step& step_of(Plan& plan, const std::string& layer, const std::string& op) {
  for (Step& step : plan.infer_graph.steps)
    if (step.layer == layer && op_name(step) == op) return step;
  ADD_FAILURE() << op << " " << layer;
  return plan.infer_graph.steps.front();
}

std::string shown(const Plan& before, const Plan& after, DumpFormat format, const DumpOptions& options = {}) {
  Result<DumpedDiff> text = dump_diff({"a.json", before}, {"b.json", after}, format, options);
  EXPECT_TRUE(text) << to_string(text.error());
  return text ? text->text : "";
}

TEST(Diff, a_plan_does_not_differ_from_itself) {
  for (const DumpOptions& options : {DumpOptions{}, on({"cpu:0", "cpu:1"}, 30), on({"cpu"}, 3)}) {
    for (const Plan& plan : {samples::tutorial(), samples::distributed(), samples::resnet18()}) {
      const GraphDiff difference = compared(plan, plan, options);
      EXPECT_TRUE(difference.equal()) << plan.name << "\n" << print_diff_text(difference);
      EXPECT_THAT(print_diff_text(difference), HasSubstr("are the same\n"));
    }
  }
}

TEST(Diff, a_layer_that_came_and_one_that_went) {
  const Plan before = samples::resnet18();
  Plan after = before;
  Step& relu = step_of(after, "net.module.2", "relu");
  relu.layer = "net.module.act";
  relu.type = "gelu";
  const GraphDiff difference = compared(before, after);
  EXPECT_THAT(with(difference, NodeChange::added), ElementsAre("gelu net.module.act"));
  EXPECT_THAT(with(difference, NodeChange::removed), ElementsAre("relu net.module.2"));
  // Its readers read another layer now: the convolution after it, and the sum around that.
  EXPECT_EQ(with(difference, NodeChange::changed).size(), 2U);
  // It is shown where it was: right beside its successor in the same place.
  size_t gone = 0, came = 0;
  for (size_t n = 0; n < difference.nodes.size(); ++n) {
    if (difference.nodes[n].change == NodeChange::removed) gone = n;
    if (difference.nodes[n].change == NodeChange::added) came = n;
  }
  EXPECT_EQ(gone, came + 1);
}

TEST(Diff, a_layer_of_another_type_is_the_same_layer) {
  const Plan before = samples::resnet18();
  Plan after = before;
  step_of(after, "net.module.2", "relu").type = "gelu";
  const GraphDiff difference = compared(before, after);
  EXPECT_EQ(difference.count(NodeChange::added) + difference.count(NodeChange::removed), 0U);
  EXPECT_THAT(properties(difference, "net.module.2"), ElementsAre("op: relu > gelu"));
}

TEST(Diff, device_shape_and_attributes) {
  const Plan before = samples::resnet18();
  Plan after = before;
  Step& conv = step_of(after, "net.module.0", "conv2d");
  conv.attributes["kernel_size"] = {5, 5};
  conv.attributes["bias"] = false;
  after.infer_graph.values[size_t(conv.outputs[0])].shape[1] = 32;
  const std::vector<std::string> found = properties(compared(before, after), "net.module.0");
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("result: chunk0×64×")));
  EXPECT_THAT(found, ::testing::Contains(HasSubstr("attributes.kernel_size: ")));
  EXPECT_THAT(found, ::testing::Contains("attributes.bias:  > false"));

  Plan moved = samples::distributed();
  for (Step& step : moved.infer_graph.steps)
    if (step.type == "linear") step.place = {Place::device, 1};
  const GraphDiff difference = compared(samples::distributed(), moved);
  EXPECT_THAT(print_diff_text(difference), HasSubstr("device: device:0 → device:1"));
}

TEST(Diff, what_a_layer_is_fused_with) {
  Plan before = samples::tutorial();
  Step linear;
  linear.type = "linear";
  linear.layer = "model.module.fc";
  before.infer.steps = {linear};
  Plan after = before;
  after.infer.steps[0].fused = {"model.module.relu"};
  EXPECT_THAT(properties(compared(before, after), "model.module.fc"),
              ElementsAre("operation: linear of model.module.fc > linear of model.module.fc + model.module.relu"));
}

TEST(Diff, a_device_more) {
  const Plan plan = samples::tutorial();
  Plan other = plan;
  other.regions[0].device_ids = {0};
  const GraphDiff difference = compared(other, plan, on({"cpu:0", "cpu:1"}, 30));
  EXPECT_THAT(with(difference, NodeChange::added), ElementsAre("linear model.module.fc 1", "print model.module.print 1"));
  EXPECT_THAT(print_diff_text(difference), HasSubstr("region model: dimension 0 split over cpu:0, gathered on cpu:0 → "
                                                     "dimension 0 split over cpu:0,cpu:1, gathered on cpu:0"));
  EXPECT_THAT(print_diff_text(difference), HasSubstr("chunks: 30 → 15,15"));
}

TEST(Diff, data_parallel_around_a_layer_keeps_it_the_same_layer) {
  Plan plain = samples::tutorial();
  for (Step& step : plain.infer_graph.steps)
    if (step.layer == "model.module.fc") step.layer = "model.fc";
  const GraphDiff difference = compared(plain, samples::tutorial());
  EXPECT_THAT(properties(difference, "model.module.fc"), ElementsAre("layer: model.fc > model.module.fc"));
}

TEST(Diff, formats) {
  const Plan before = samples::resnet18();
  Plan after = before;
  Step& relu = step_of(after, "net.module.2", "relu");
  relu.layer = "net.module.act\x1b[31m<b>";
  relu.type = "gelu";
  const std::string text = shown(before, after, DumpFormat::text);
  EXPECT_THAT(text, HasSubstr("from a.json to b.json"));
  EXPECT_THAT(text, HasSubstr("1 came, 1 went, 2 changed"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const Json json = Json::parse(shown(before, after, DumpFormat::json));
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["added"], 1);
  EXPECT_EQ(json["removed"], 1);
  for (const Json& node : json["nodes"]) EXPECT_EQ(node.contains("properties"), node["change"] == "changed") << node;
  const std::string dot = shown(before, after, DumpFormat::dot);
  for (const char* colour : {"#c9f2d2", "#fbd0d0", "#fdedb3"}) EXPECT_THAT(dot, HasSubstr(colour));
  EXPECT_THAT(dot, HasSubstr("before_s"));
  EXPECT_FALSE(dump_diff({"a", before}, {"b", after}, DumpFormat::mlir));
  EXPECT_THAT(shown(before, after, DumpFormat::html), HasSubstr("<html"));
  EXPECT_FALSE(dump_diff({"a", before}, {"b", after}, DumpFormat::text, {{"cpu:0"}, 3, "train"}));
}

}  // namespace
}  // namespace sheaf
