// The compiler's statements about values in a region.
#include "runtime/plan/op_list.h"
#include "tests/unit/tools/verify/verified.h"

#include <set>

namespace sheaf {
namespace {

std::set<std::string> layouts_made_by(const Program& program, Op op) {
  std::set<std::string> found;
  for (const Step& step : program.steps) {
    if (step.op != op) continue;
    for (const int output : step.outputs) found.insert(to_string(program.values[static_cast<size_t>(output)].layout));
  }
  return found;
}

std::set<std::string> layouts_read_by(const Program& program, Op op) {
  std::set<std::string> found;
  for (const Step& step : program.steps)
    if (step.op == op) found.insert(to_string(program.values[static_cast<size_t>(step.inputs[0])].layout));
  return found;
}

using Names = std::set<std::string>;

TEST(Layouts, OfAPerceptron) {
  const Plan plan = compiled(perceptron(kLayers));
  for (const Program* program : {&plan.infer, &plan.infer_graph, &plan.train, &plan.train_graph}) {
    EXPECT_EQ(layouts_made_by(*program, Op::scatter), Names{"split:0"});
    EXPECT_EQ(layouts_made_by(*program, Op::replicate), Names{"replicated"});
    EXPECT_EQ(layouts_made_by(*program, Op::gather), Names{"whole"});
    EXPECT_EQ(layouts_read_by(*program, Op::gather), Names{"split:0"});
  }
  EXPECT_EQ(layouts_read_by(plan.train, Op::reduce), Names{"partial"});
  EXPECT_EQ(layouts_made_by(plan.train, Op::reduce), Names{"whole"});
  for (const Value& value : plan.train.values)
    EXPECT_NE(to_string(value.layout), "local") << value.name << ": rows stay apart here";
}

TEST(Layouts, BatchStatisticsAreEachReplicasOwn) {
  const Plan plan = compiled(perceptron(R"({"name": "fc", "type": "Linear", "in_features": 5, "out_features": 3},
                                           {"name": "norm", "type": "BatchNorm1d", "num_features": 3})"));
  EXPECT_EQ(layouts_made_by(plan.train, Op::batch_norm_train), Names{"local"});
  const Names kept = {"local", "replicated"};  // statistics, and the number of batches, which all replicas count alike
  EXPECT_EQ(layouts_read_by(plan.train, Op::first), kept);
  EXPECT_EQ(layouts_read_by(plan.infer, Op::gather), Names{"split:0"}) << "in inference rows stay apart";
}

TEST(Layouts, FollowTheSplitDimension) {
  const Plan plan = compiled(R"({"sheaf": "1.0", "name": "m", "inputs": {"x": {"shape": [4, "batch", 5]}}, "layers": [
    {"name": "net", "type": "DataParallel", "dim": 1, "module": {"type": "Sequential", "layers": [
      {"name": "turn", "type": "Permute", "dims": [1, 0, 2]}, {"name": "back", "type": "Permute", "dims": [1, 0, 2]},
      {"name": "mix", "type": "Softmax", "dim": 1}]}}]})");
  EXPECT_EQ(layouts_made_by(plan.infer, Op::scatter), Names{"split:1"});
  std::map<std::string, std::string> by_layer;
  for (const Step& step : plan.infer_graph.steps)
    by_layer[step.layer] = to_string(plan.infer_graph.values[static_cast<size_t>(step.outputs[0])].layout);
  EXPECT_EQ(by_layer["net.module.turn"], "split:0");
  EXPECT_EQ(by_layer["net.module.back"], "split:1");
  EXPECT_EQ(by_layer["net.module.mix"], "local") << "a softmax over rows is of the replica's rows alone";
}

TEST(Layouts, AreReadAsTheyAreWritten) {
  for (const char* text : {"whole", "split:0", "split:11", "replicated", "partial", "local"}) {
    auto layout = parse_layout(text);
    ASSERT_TRUE(layout) << text;
    EXPECT_EQ(to_string(*layout), text);
  }
  for (const char* text : {"", "split", "split:", "split:-1", "split:01", "split:x", "Whole"})
    EXPECT_FALSE(parse_layout(text)) << text;
}

}  // namespace
}  // namespace sheaf
