// What the HTML page's script is given: parts of a training step, memory, a timeline, a difference.
#include "runtime/plan/op_list.h"
#include "tools/estimate/memory_over_time.h"
#include "tools/inspect/dump.h"
#include "tools/inspect/page_data.h"
#include "tests/unit/inspect/sample_plans.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlacementNode node(std::string id, std::string op, int replica = -1) {
  PlacementNode made;
  made.id = std::move(id);
  made.op = std::move(op);
  made.replica = replica;
  made.device = "cpu:0";
  return made;
}

PlacementGraph chain(std::vector<PlacementNode> nodes, std::vector<std::pair<int, int>> edges) {
  PlacementGraph graph;
  graph.program = "train";
  graph.nodes = std::move(nodes);
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, {}, false});
  return graph;
}

TEST(Phases, of_a_step_on_replicas) {
  const PlacementGraph graph =
      chain({node("in0", "input"), node("s0_r0", "linear", 0), node("s1", "gather"), node("s2", "loss"), node("s3", "scale"),
             node("s4", "scatter"), node("s5_r0", "linear_backward_weight", 0), node("s6", "reduce"), node("s7", "scale"),
             node("s8", "first"), node("s9", "sgd_update"), node("out0", "output"), node("out1", "output")},
            {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 10}, {1, 9}, {3, 11}, {1, 12}});
  EXPECT_THAT(phases_of(graph), ElementsAre("forward", "forward", "forward", "forward", "backward", "backward", "backward",
                                            "update", "update", "forward", "update", "forward", "forward"));
}

TEST(Phases, inference_has_none) {
  PlacementGraph graph = chain({node("in0", "input"), node("out0", "output")}, {{0, 1}});
  graph.program = "infer";
  EXPECT_THAT(phases_of(graph), ElementsAre("", ""));
  EXPECT_FALSE(page_data({graph})["nodes"][0].contains("phase"));
}

TEST(Page, says_what_is_computed_together_and_where_it_stands) {
  const Plan plan = samples::tutorial();
  const auto graph = placement_graph(plan, {});
  ASSERT_TRUE(graph);
  PlacementGraph placed = *graph;
  for (PlacementNode& one : placed.nodes) one.location = {"m.json", 7, 3};
  Program executable;
  Step step;
  step.layer = "model.module.print";
  step.fused = {"model.module.fc"};
  executable.steps.push_back(step);
  const Json data = page_data({placed, &executable});
  bool found = false;
  for (const Json& one : data["nodes"]) {
    EXPECT_EQ(one["location"], "m.json:7:3");
    if (one["layer"] != "model.module.fc") continue;
    EXPECT_EQ(one["computed_with"], "model.module.print");
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(Page, has_the_memory_of_each_lane) {
  const PlacementGraph graph;
  LaneMemory lane{
      "cpu:0", 256, 192, 1, {{Op::conv, "a", {}, 0, 0}}, {64, 192}, {{"x", 64, 0, 2, false}, {"a", 128, 1, 2, true}}};
  const std::vector<LaneMemory> memory{lane};
  PageContent content{graph};
  content.memory = &memory;
  const Json shown = page_data(content)["memory"][0];
  EXPECT_EQ(shown["peak"], 192);
  EXPECT_EQ(shown["peak_position"], 1);
  EXPECT_EQ(shown["live"].dump(), "[64,192]");
  EXPECT_EQ(shown["operations"].dump(), R"([{"op":"conv","layer":"a","replica":0}])");
  EXPECT_EQ(shown["tensors"][1].dump(), R"({"name":"scratch memory of a","bytes":128,"begin":1,"end":2})");
}

TEST(Page, has_a_traces_texts_once) {
  const PlacementGraph graph;
  Timeline timeline{"t.json", {{"", "cpu:0"}}, {}, 4};
  for (int step = 0; step < 3; ++step)
    timeline.slices.push_back({0, "fc", step * 0.1, 0.05, "net.fc", "linear", 1, step, {{"flops", 3}}});
  PageContent content{graph};
  content.timeline = &timeline;
  const Json shown = page_data(content)["timeline"];
  EXPECT_EQ(shown["names"].dump(), R"(["fc","net.fc","linear"])");
  EXPECT_EQ(shown["args"].dump(), R"([{"flops":3}])");
  EXPECT_EQ(shown["begin"].dump(), "[0.0,0.1,0.2]");
  EXPECT_EQ(shown["step"].dump(), "[0,1,2]");
  EXPECT_EQ(shown["left_out"], 4);
}

TEST(Page, of_a_difference_has_its_changes) {
  const Plan before = samples::explicit_devices(), after = samples::explicit_devices("other</script>");
  const auto page = dump_diff({"a.json", before}, {"b.json", after}, DumpFormat::html);
  ASSERT_TRUE(page) << to_string(page.error());
  EXPECT_FALSE(page->equal);
  for (const char* part : {"\"change\":\"added\"", "\"change\":\"removed\"", "a.json → b.json"})
    EXPECT_THAT(page->text, HasSubstr(part));
  EXPECT_THAT(page->text, ::testing::Not(HasSubstr("other</script>")));
}

TEST(Page, says_why_memory_is_not_known) {
  DumpOptions options{{"cpu:0"}, 4};
  const Plan plan = samples::tutorial();  // a sample has no executable program
  options.memory = [&](const Program& program) { return memory_over_time(plan, program, options.devices, *options.batch); };
  const auto page = dump(plan, DumpFormat::html, options);
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, HasSubstr("\"no_memory\":\"the plan holds no executable program\""));
}

}  // namespace
}  // namespace sheaf
