// The data of the HTML page's script: parts of a training step, memory, a timeline, a difference.
#include "runtime/plan/op_list.h"
#include "tools/estimate/memory_over_time.h"
#include "tools/inspect/dump.h"
#include "tools/inspect/page_data.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::HasSubstr;

TEST(Page, says_which_part_of_a_training_step_a_node_is_of) {
  PlacementGraph graph;
  graph.nodes.resize(3);
  graph.nodes[1].phase = Phase::backward;
  graph.nodes[2].phase = Phase::update;
  const Json data = page_data({graph});
  EXPECT_TRUE(data["phases"]);
  EXPECT_EQ(data["nodes"][0]["phase"], "forward");
  EXPECT_EQ(data["nodes"][1]["phase"], "backward");
  EXPECT_EQ(data["nodes"][2]["phase"], "update");
}

TEST(Page, inference_has_no_parts) {
  PlacementGraph graph;
  graph.nodes.resize(2);
  EXPECT_FALSE(page_data({graph})["phases"]);
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
