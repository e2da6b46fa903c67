// Which batch norms are joined with their neighbours, and which are not.
#include "tests/unit/runtime/bind/norm_steps.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(FuseNorms, ReluAndItsGradientJoinTheBatchNorm) {
  Steps steps;
  const StepId norm = steps.norm("x", "n"), relu = steps.add("relu", {"x"}, {"n"}, {"y"}, "relu");
  const StepId gradient = steps.add("relu_backward", {"x", "x1"}, {"dy", "y"}, {"dn"}, "relu_backward");
  const StepId back = steps.norm_backward("x", "n", "dn", "dx");
  const NormFusions fusions(steps.program);
  ASSERT_TRUE(fusions.at(norm));
  const Step& forward = fusions.at(norm)->step;
  EXPECT_EQ(forward.outputs,
            (std::vector<int>{steps.value("y"), steps.value("n.mean"), steps.value("n.var"), left_by(norm, Left::mask)}));
  EXPECT_EQ(forward.attributes["activation"]["kind"], "relu");
  EXPECT_EQ(forward.fused, std::vector<std::string>{"relu"});
  EXPECT_EQ(fusions.covering(relu), fusions.at(norm));
  ASSERT_TRUE(fusions.at(gradient)) << "it stands where the ReLU's gradient did";
  EXPECT_EQ(fusions.covering(back), fusions.at(gradient));
  EXPECT_EQ(fusions.at(gradient)->instead, back);
  const Step& backward = fusions.at(gradient)->step;
  EXPECT_EQ(backward.roles.back(), "workspace");
  EXPECT_EQ(backward.inputs, (std::vector<int>{steps.value("x"), steps.value("dy"), steps.value("n.mean"), steps.value("n.var"),
                                               steps.value("w"), left_by(norm, Left::mask)}));
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
