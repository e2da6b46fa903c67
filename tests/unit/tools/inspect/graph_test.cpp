// The placement graph: nodes for replicas, sizes, what moves, and errors that a device list causes.
#include "tools/inspect/graph.h"
#include "tests/unit/tools/inspect/sample_plans.h"

#include <gmock/gmock.h>

namespace sheaf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PlacementGraph expanded(const Plan& plan, std::vector<std::string> devices, int64_t batch) {
  Result<PlacementGraph> graph = expand(plan, plan.infer_graph, devices, batch);
  EXPECT_TRUE(graph) << to_string(graph.error());
  return graph ? *graph : PlacementGraph{};
}

std::vector<const PlacementNode*> nodes_of(const PlacementGraph& graph, const std::string& op) {
  std::vector<const PlacementNode*> found;
  for (const PlacementNode& node : graph.nodes)
    if (node.op == op) found.push_back(&node);
  return found;
}

int64_t moved(const PlacementGraph& graph, const std::string& op) {
  const auto nodes = nodes_of(graph, op);
  EXPECT_EQ(nodes.size(), 1u) << op;
  return nodes.empty() || !nodes[0]->bytes_moved ? -1 : nodes[0]->bytes_moved->constant;
}

std::string error_of(const Plan& plan, const std::vector<std::string>& devices, int64_t batch) {
  Result<PlacementGraph> graph = expand(plan, plan.infer_graph, devices, batch);
  return graph ? "no error" : to_string(graph.error());
}

TEST(Expand, gives_each_replica_a_node_on_its_device) {
  const Plan plan = samples::tutorial();
  const PlacementGraph graph = expanded(plan, {"cpu:0", "cpu:1"}, 30);
  const auto linear = nodes_of(graph, "linear");
  ASSERT_EQ(linear.size(), 2u);
  EXPECT_EQ(linear[0]->device, "cpu:0");
  EXPECT_EQ(linear[1]->device, "cpu:1");
  EXPECT_EQ(linear[0]->replica, 0);
  EXPECT_EQ(linear[1]->replica, 1);
  EXPECT_EQ(linear[0]->parameter_bytes, 4 * (2 * 5 + 2));
  EXPECT_EQ(nodes_of(graph, "print").back()->replica, -1) << "outside the region";
}

TEST(Expand, uses_as_many_devices_as_there_are_chunks) {
  std::vector<std::string> eight;
  for (int i = 0; i < 8; ++i) eight.push_back("cpu:" + std::to_string(i));
  const PlacementGraph graph = expanded(samples::tutorial(), eight, 10);
  EXPECT_EQ(nodes_of(graph, "linear").size(), 5u);
  EXPECT_THAT(nodes_of(graph, "scatter")[0]->chunks, ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(nodes_of(graph, "gather")[0]->chunks, ElementsAre(2, 2, 2, 2, 2));
  EXPECT_THAT(graph.regions[0].devices, ElementsAre("cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4"));
}

TEST(Expand, keeps_an_empty_batch_on_one_replica) {
  const PlacementGraph graph = expanded(samples::tutorial(), {"cpu:0", "cpu:1"}, 0);
  EXPECT_EQ(nodes_of(graph, "linear").size(), 1u);
  EXPECT_THAT(nodes_of(graph, "scatter")[0]->chunks, ElementsAre(0));
  EXPECT_EQ(moved(graph, "scatter"), 0);
}

TEST(Expand, counts_what_moves_between_devices) {
  const PlacementGraph graph = expanded(samples::tutorial(), {"cpu:0", "cpu:1", "cpu:2"}, 10);  // 4, 4, 2
  EXPECT_EQ(moved(graph, "scatter"), 10 * 5 * 4) << "the host is none of the devices";
  EXPECT_EQ(moved(graph, "replicate"), 2 * 48) << "replica 0 uses the original";
  EXPECT_EQ(moved(graph, "gather"), (4 + 2) * 2 * 4) << "the chunk on the output device stays";
  EXPECT_EQ(moved(graph, "transfer"), 10 * 2 * 4);
}

TEST(Expand, moves_nothing_between_replicas_on_one_device) {
  const PlacementGraph graph = expanded(samples::tutorial(), {"cpu:0", "cpu:0"}, 30);
  EXPECT_EQ(nodes_of(graph, "linear").size(), 2u);
  EXPECT_EQ(moved(graph, "replicate"), 0);
  EXPECT_EQ(moved(graph, "gather"), 0);
  EXPECT_EQ(moved(graph, "scatter"), 600);
}

TEST(Expand, follows_device_ids_output_device_and_a_negative_dim) {
  const PlacementGraph graph = expanded(samples::explicit_devices(), {"a", "b", "c"}, 5);
  const auto relu = nodes_of(graph, "relu");
  ASSERT_EQ(relu.size(), 2u);
  EXPECT_EQ(relu[0]->device, "b") << "device_ids is [1, 0]";
  EXPECT_EQ(relu[1]->device, "a");
  EXPECT_THAT(nodes_of(graph, "scatter")[0]->chunks, ElementsAre(5, 5));
  EXPECT_EQ(nodes_of(graph, "scatter")[0]->device, "a") << "where its operand is";
  EXPECT_EQ(moved(graph, "scatter"), 3 * 5 * 4) << "half of it is there already";
  EXPECT_EQ(nodes_of(graph, "gather")[0]->device, "c");
  EXPECT_EQ(moved(graph, "gather"), 3 * 10 * 4);
}

TEST(Expand, joins_scatter_replicas_and_gather_by_edges) {
  const PlacementGraph graph = expanded(samples::explicit_devices(), {"a", "b", "c"}, 5);
  std::vector<std::string> edges;
  for (const PlacementEdge& edge : graph.edges)
    edges.push_back(graph.nodes[static_cast<size_t>(edge.from)].id + ">" + graph.nodes[static_cast<size_t>(edge.to)].id);
  EXPECT_THAT(edges, ElementsAre("in0>s0", "s0>s1_r0", "s0>s1_r1", "s1_r0>s2", "s1_r1>s2", "s2>out0"));
}

TEST(Expand, host_only_inserts_nothing) {
  const PlacementGraph graph = expanded(samples::tutorial(), {"cpu"}, 30);
  EXPECT_EQ(graph.nodes.size(), 5u);
  for (const PlacementNode& node : graph.nodes) {
    EXPECT_FALSE(node.inserted) << node.op;
    EXPECT_EQ(node.device, "host");
    EXPECT_EQ(node.replica, -1);
  }
  EXPECT_EQ(graph.edges.size(), 6u) << "two operands for each print, one for fc, the output";
  EXPECT_EQ(graph.edges[0].tensor.bytes->constant, 600) << "the whole batch";
}

TEST(Expand, one_node_replicates_all_parameters_of_a_region) {
  const PlacementGraph graph = expanded(samples::resnet18(), {"cpu:0", "cpu:1"}, 256);
  const auto replicate = nodes_of(graph, "replicate");
  ASSERT_EQ(replicate.size(), 1u);
  EXPECT_EQ(replicate[0]->layer, "net");
  EXPECT_EQ(replicate[0]->parameter_bytes, moved(graph, "replicate"));
  EXPECT_EQ(nodes_of(graph, "conv2d").size(), 2u * 20u);
}

TEST(Expand, locates_an_index_beyond_the_list) {
  EXPECT_THAT(error_of(samples::explicit_devices(), {"cpu:0"}, 4),
              HasSubstr("explicit.json:7:3: error: 'net' runs on device 1"));
  EXPECT_THAT(error_of(samples::explicit_devices(), {"cpu:0", "cpu:1"}, 4),
              HasSubstr("explicit.json:7:3: error: 'net' gathers on device 2"));
  Plan plan = samples::distributed();
  for (Step& step : plan.infer_graph.steps)
    if (step.place.kind == Place::device) step.place.index = 3;
  EXPECT_THAT(error_of(plan, {"cpu:0"}, 4), HasSubstr("layer 'rnn' is on device 3, but the device list has 1 entry (cpu:0)"));
}

TEST(Expand, refuses_sizes_that_cannot_be) {
  EXPECT_THAT(error_of(samples::tutorial(), {"cpu:0", "cpu:1"}, -1), HasSubstr("-1 rows"));
  EXPECT_THAT(error_of(samples::tutorial(), {"cpu:0", "cpu:1"}, INT64_MAX), HasSubstr("rows"));
  EXPECT_THAT(error_of(samples::tutorial(), {}, 4), HasSubstr("device list is empty"));
}

TEST(Symbolic, has_one_node_for_each_step_and_sizes_as_expressions) {
  const Plan plan = samples::tutorial();
  const PlacementGraph graph = symbolic_graph(plan, plan.infer_graph);
  ASSERT_EQ(nodes_of(graph, "linear").size(), 1u);
  EXPECT_EQ(nodes_of(graph, "linear")[0]->device, "model");
  EXPECT_EQ(nodes_of(graph, "gather")[0]->device, "device:0");
  EXPECT_EQ(to_string(*nodes_of(graph, "scatter")[0]->bytes_moved), "20*batch");
  EXPECT_EQ(to_string(*nodes_of(graph, "replicate")[0]->bytes_moved), "48*replicas - 48");
  EXPECT_EQ(to_string(*nodes_of(graph, "gather")[0]->bytes_moved), "8*batch - 8*chunk0");
}

TEST(Symbolic, has_no_bytes_where_two_dimensions_are_symbolic) {
  Plan plan = samples::distributed();
  for (Value& value : plan.infer_graph.values)
    if (value.name == "rnn:linear") value.shape[1] = Extent::symbol("batch");
  const PlacementGraph graph = symbolic_graph(plan, plan.infer_graph);
  EXPECT_FALSE(graph.edges.back().tensor.bytes.has_value());
  EXPECT_EQ(expanded(plan, {"cpu:0"}, 3).edges.back().tensor.bytes->constant, 36);
}

}  // namespace
}  // namespace sheaf
