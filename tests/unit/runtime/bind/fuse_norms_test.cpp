// Which batch norms are joined with what stands around them, and which are not.
#include "runtime/bind/fuse_norms.h"
#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

/// Builds a program by value names; every value is a temporary of one place.
class Steps {
 public:
  int value(const std::string& name) {
    for (size_t i = 0; i < program.values.size(); ++i) {
      if (program.values[i].name == name) return static_cast<int>(i);
    }
    program.values.push_back({});
    program.values.back().name = name;
    return static_cast<int>(program.values.size()) - 1;
  }
  /// `layer`: a library operation, which its layer is called as, or with `pattern` a kernel.
  StepId add(const std::string& layer, const std::vector<std::string>& roles, const std::vector<std::string>& inputs,
             const std::vector<std::string>& outputs, const std::string& pattern = "") {
    Step step;
    step.op = pattern.empty() ? *op_from_name(layer) : Op::kernel;
    step.layer = layer;
    step.roles = roles;
    for (const auto& input : inputs) step.inputs.push_back(value(input));
    for (const auto& output : outputs) step.outputs.push_back(value(output));
    if (!pattern.empty()) step.attributes["pattern"] = pattern;
    program.steps.push_back(std::move(step));
    return StepId(program.steps.size() - 1);
  }
  StepId norm(const std::string& x, const std::string& y) {
    return add("batch_norm_train", {"x", "weight", "bias"}, {x, "w", "b"}, {y, y + ".mean", y + ".var"});
  }
  StepId norm_backward(const std::string& x, const std::string& y, const std::string& dy, const std::string& dx) {
    return add("batch_norm_backward", {"x", "dy", "mean", "var", "weight"}, {x, dy, y + ".mean", y + ".var", "w"},
               {dx, "dw", "db"});
  }
  Program program;
};

TEST(FuseNorms, ReluAndItsGradientJoinTheBatchNorm) {
  Steps steps;
  const StepId norm = steps.norm("x", "n"), relu = steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "y"}, {"dn"}, "relu_backward");
  const StepId back = steps.norm_backward("x", "n", "dn", "dx");
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(norm));
  const Step& forward = fusions.at(norm)->step;
  EXPECT_EQ(forward.outputs, (std::vector<int>{steps.value("y"), steps.value("n.mean"), steps.value("n.var"), kMask}));
  EXPECT_EQ(forward.attributes["activation"]["kind"], "relu");
  EXPECT_EQ(forward.fused, std::vector<std::string>{"relu"});
  EXPECT_EQ(fusions.covering(relu), fusions.at(norm));
  ASSERT_TRUE(fusions.at(gradient)) << "it stands where the ReLU's gradient did";
  EXPECT_EQ(fusions.covering(back), fusions.at(gradient));
  EXPECT_EQ(fusions.at(gradient)->instead, back);
  const Step& backward = fusions.at(gradient)->step;
  EXPECT_EQ(backward.roles.back(), "workspace");
  EXPECT_EQ(backward.inputs, (std::vector<int>{steps.value("x"), steps.value("dy"), steps.value("n.mean"), steps.value("n.var"),
                                               steps.value("w"), kMask}));
  EXPECT_EQ(backward.outputs.size(), 3U);
}

TEST(FuseNorms, ResidualIsAnOperandAndItsGradientAResult) {
  Steps steps;
  steps.add("conv", {}, {}, {"r"});
  const StepId norm = steps.norm("x", "n");
  steps.add("add", {"x", "x1"}, {"r", "n"}, {"y"}, "add_relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "y"}, {"dn"}, "relu_backward");
  steps.norm_backward("x", "n", "dn", "dx");
  steps.add("reader", {"x"}, {"dn"}, {"z"});
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(norm));
  EXPECT_EQ(fusions.at(norm)->step.roles.back(), "residual");
  EXPECT_EQ(fusions.at(norm)->step.inputs.back(), steps.value("r"));
  ASSERT_TRUE(fusions.at(gradient));
  EXPECT_EQ(fusions.at(gradient)->step.outputs.back(), steps.value("dn"));
}

TEST(FuseNorms, SumOfTwoGradientsJoinsToo) {
  Steps steps;
  const StepId norm = steps.norm("x", "n");
  steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  const StepId gradient = steps.add("both", {"x", "x1", "x2"}, {"dy", "other", "y"}, {"dn"}, "add_relu_backward");
  const StepId back = steps.norm_backward("x", "n", "dn", "dx");
  steps.add("reader", {"x"}, {"dn"}, {"z"});
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(norm));
  ASSERT_TRUE(fusions.at(gradient));
  EXPECT_EQ(fusions.covering(back), fusions.at(gradient));
  const Step& backward = fusions.at(gradient)->step;
  EXPECT_EQ(backward.roles, (std::vector<std::string>{"x", "dy", "mean", "var", "weight", "dy2", "workspace"}));
  EXPECT_EQ(backward.inputs[1], steps.value("dy"));
  EXPECT_EQ(backward.inputs[5], steps.value("other"));
  EXPECT_EQ(backward.outputs.back(), steps.value("dn"));
}

TEST(FuseNorms, BiasInFrontIsAddedToTheMeanAlone) {
  Steps steps;
  const StepId conv = steps.add("conv", {"x", "weight", "bias"}, {"i", "cw", "cb"}, {"x"});
  const StepId norm = steps.norm("x", "n");
  steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "y"}, {"dn"}, "relu_backward");
  steps.norm_backward("x", "n", "dn", "dx");
  const StepId of_weight = steps.add("conv_backward_weight", {"x", "dy"}, {"i", "dx"}, {"dcw", "dcb"});
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(conv));
  EXPECT_EQ(fusions.at(conv)->step.roles, (std::vector<std::string>{"x", "weight"}));
  ASSERT_TRUE(fusions.at(of_weight));
  EXPECT_EQ(fusions.at(of_weight)->step.outputs, std::vector<int>{steps.value("dcw")});
  EXPECT_EQ(fusions.at(of_weight)->step.attributes["bias"], false);
  EXPECT_EQ(fusions.at(of_weight)->zeros, std::vector<ValueId>{ValueId(steps.value("dcb"))})
      << "batch norm's gradient adds up to zero";
  for (const StepId step : {norm, gradient}) {
    ASSERT_TRUE(fusions.at(step));
    EXPECT_EQ(fusions.at(step)->step.roles.back(), "x_bias");
    EXPECT_EQ(fusions.at(step)->step.inputs.back(), steps.value("cb"));
  }
}

TEST(FuseNorms, BiasInFrontStaysWhereOthersReadIt) {
  Steps steps;
  const StepId conv = steps.add("conv", {"x", "weight", "bias"}, {"i", "cw", "cb"}, {"x"});
  const StepId norm = steps.norm("x", "n");
  steps.add("conv", {"x", "weight"}, {"x", "cw"}, {"z"});
  steps.norm_backward("x", "n", "dn", "dx");
  const StepId of_weight = steps.add("conv_backward_weight", {"x", "dy"}, {"i", "dx"}, {"dcw", "dcb"});
  const NormFusions fusions(steps.program);
  EXPECT_FALSE(fusions.at(of_weight));
  EXPECT_FALSE(fusions.at(conv));
  EXPECT_FALSE(fusions.at(norm));
}

TEST(FuseNorms, WithoutItsGradientThereIsNoMask) {
  Steps steps;
  const StepId norm = steps.norm("x", "n");
  steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(norm));
  EXPECT_EQ(fusions.at(norm)->step.outputs.size(), 3U);
}

TEST(FuseNorms, OthersThatReadTheResultKeepItApart) {
  Steps steps;
  const StepId norm = steps.norm("x", "n");
  steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  steps.add("reader", {"x"}, {"n"}, {"z"});
  const StepId leaving = steps.norm("y", "m");
  steps.add("relu", {"x"}, {"m"}, {"o"}, "relu");
  steps.program.outputs.push_back({"m", steps.value("m")});
  const NormFusions fusions(steps.program);
  EXPECT_FALSE(fusions.at(norm));
  EXPECT_FALSE(fusions.at(leaving));
}

TEST(FuseNorms, ResidualThatIsMadeLaterKeepsItApart) {
  Steps steps;
  const StepId norm = steps.norm("x", "n");
  steps.add("conv", {}, {}, {"r"});
  const StepId add = steps.add("add", {"x", "x1"}, {"n", "r"}, {"y"}, "add_relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "y"}, {"dn"}, "relu_backward");
  const StepId back = steps.norm_backward("x", "n", "dn", "dx");
  const NormFusions fusions(steps.program);
  for (const StepId step : {norm, add, gradient, back}) {
    EXPECT_FALSE(fusions.at(step)) << to_string(step);
    EXPECT_FALSE(fusions.covering(step)) << to_string(step);
  }
}

TEST(FuseNorms, GradientOfAnotherReluStaysApart) {
  Steps steps;
  steps.norm("x", "n");
  steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  steps.add("relu", {"x"}, {"y"}, {"again"}, "relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "again"}, {"dn"}, "relu_backward");
  steps.norm_backward("x", "n", "dn", "dx");
  EXPECT_FALSE(NormFusions(steps.program).at(gradient));
}

}  // namespace
}  // namespace sheaf
