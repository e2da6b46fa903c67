// Format model-explorer: a flat list of nodes, boxes by namespaces. Against its documented fields: tests/cli/test_dump.py.
#include "tools/inspect/print.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace sheaf {
namespace {

std::map<std::string, Json> nodes_of(const Json& collection) {
  std::map<std::string, Json> nodes;
  for (const Json& node : collection["graphs"][0]["nodes"]) nodes[node["id"].get<std::string>()] = node;
  return nodes;
}

std::string attribute(const Json& node, const std::string& key) {
  for (const Json& entry : node["attrs"])
    if (entry["key"] == key) return entry["value"].get<std::string>();
  return "(none)";
}

TEST(ModelExplorer, namespaces_are_devices_then_groups) {
  const Plan plan = samples::resnet18();
  Result<PlacementGraph> graph = expand(plan, plan.infer_graph, {"cpu:0", "cpu:0"}, 4);
  ASSERT_TRUE(graph);
  std::set<std::string> spaces;
  for (const auto& [id, node] : nodes_of(graph_to_model_explorer(*graph))) spaces.insert(node["namespace"].get<std::string>());
  EXPECT_TRUE(spaces.contains("host"));
  // Two replicas on one device keep apart.
  EXPECT_TRUE(spaces.contains("cpu:0/net (replica 0)/module/resnet_block2/0"));
  EXPECT_TRUE(spaces.contains("cpu:0/net (replica 1)/module/resnet_block2/0"));
  const auto symbolic = nodes_of(graph_to_model_explorer(symbolic_graph(plan, plan.infer_graph)));
  EXPECT_EQ(symbolic.at("in0")["namespace"], "host");
}

TEST(ModelExplorer, edges_and_outputs) {
  const Plan plan = samples::tutorial();
  const PlacementGraph graph = symbolic_graph(plan, plan.infer_graph);
  const auto nodes = nodes_of(graph_to_model_explorer(graph));
  ASSERT_EQ(nodes.size(), graph.nodes.size());
  size_t edges = 0;
  for (const auto& [id, node] : nodes) {
    std::set<std::string> inputs;
    for (const Json& edge : node["incomingEdges"]) {
      ++edges;
      const Json& from = nodes.at(edge["sourceNodeId"].get<std::string>());
      const auto output = std::stoul(edge["sourceNodeOutputId"].get<std::string>());
      EXPECT_LT(output, from["outputsMetadata"].size()) << id;
      EXPECT_TRUE(inputs.insert(edge["targetNodeInputId"].get<std::string>()).second) << id;
    }
  }
  EXPECT_EQ(edges, graph.edges.size());
  const Json& scatter = nodes.at("s0");
  EXPECT_EQ(scatter["label"], "scatter model");
  EXPECT_EQ(attribute(scatter, "reason"), "DataParallel splits x along dimension 0");
  EXPECT_EQ(attribute(scatter, "dim"), "0");
}

TEST(ModelExplorer, names_are_data) {
  const Plan plan = samples::explicit_devices("a/b\x1b[31m");
  for (const auto& [id, node] : nodes_of(graph_to_model_explorer(symbolic_graph(plan, plan.infer_graph)))) {
    EXPECT_EQ(node.dump().find('\x1b'), std::string::npos);
    EXPECT_EQ(node["namespace"].get<std::string>().find("a/b"), std::string::npos) << node["namespace"];
  }
}

}  // namespace
}  // namespace sheaf
