// Which convolutions are joined with the batch norms around them, and what their steps become.
#include "runtime/bind/join_convolutions.h"
#include "tests/unit/runtime/bind/norm_steps.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using Names = std::vector<std::string>;

/// conv → norm → ReLU → conv → norm → + residual → ReLU → conv, and back.
class Block : public Steps {
 public:
  StepId conv0 = conv("i", "w0", "x0"), norm0 = norm("x0", "n0"), relu0 = add("relu", {"x"}, {"n0"}, {"y0"}, "relu");
  StepId conv1 = conv("y0", "w1", "x1"), norm1 = norm("x1", "n1"),
         join = add("join", {"x", "x1"}, {"n1", "r"}, {"y1"}, "add_relu");
  StepId conv2 = conv("y1", "w2", "x2"), norm2 = norm("x2", "n2");
  StepId other = add("other", {"x"}, {"y1"}, {"o"}, "else"), skip = add("skip", {"x"}, {"o"}, {"skip"}, "else");
  StepId norm2_backward = norm_backward("x2", "n2", "dn2", "dx2");
  StepId data2 = data("dx2", "w2", "dy1"), weight2 = weight("y1", "dx2", "dw2");
  StepId join_backward = add("join_backward", {"x", "x1", "x2"}, {"skip", "dy1", "y1"}, {"dn1"}, "add_relu_backward");
  StepId norm1_backward = norm_backward("x1", "n1", "dn1", "dx1");
  StepId data1 = data("dx1", "w1", "dy0"), weight1 = weight("y0", "dx1", "dw1");
  StepId relu0_backward = add("relu_backward", {"x", "x1"}, {"dy0", "y0"}, {"dn0"}, "relu_backward");
  StepId norm0_backward = norm_backward("x0", "n0", "dn0", "dx0");

  /// What is done instead of a step if all norms join as much as they can, and `most` at most.
  std::optional<Step> joined(StepId id, Joined most = Joined::whole) {
    for (Step& step : program.steps)
      if (step.op == Op::batch_norm_train) step.attributes["eps"] = 1e-5;
    const NormFusions fusions(program);
    const ConvNorms joins(program, fusions);
    const NormFusion* fusion = fusions.at(id);
    return joins.joined(id, fusion ? fusion->step : program.steps[id.index()], [&](StepId norm) {
      for (StepId conv : IdRange<StepId>(program.steps.size()))
        if (const ConvNorm* found = joins.behind(conv); found && found->norm == norm) return std::min(most, found->most());
      return Joined::nothing;
    });
  }
  Names named(const std::vector<int>& operands) {
    Names names;
    for (int operand : operands)
      names.push_back(is_left(operand) ? std::vector{"mask", "moments", "factors", "slopes"}[size_t(what_is_left(operand))] +
                                             std::to_string(left_by_whom(operand).number())
                                       : program.values[size_t(operand)].name);
    return names;
  }
  std::string left(const char* what, StepId norm) { return what + std::to_string(norm.number()); }

 private:
  StepId conv(const std::string& x, const std::string& w, const std::string& y) {
    return add("conv", {"x", "weight"}, {x, w}, {y});
  }
  StepId data(const std::string& dy, const std::string& w, const std::string& dx) {
    return add("conv_backward_data", {"dy", "weight"}, {dy, w}, {dx});
  }
  StepId weight(const std::string& x, const std::string& dy, const std::string& dw) {
    return add("conv_backward_weight", {"x", "dy"}, {x, dy}, {dw});
  }
};

TEST(JoinConvolutions, TheNormBetweenTwoIsNotDone) {
  Block block;
  const auto first = block.joined(block.conv0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->roles, (Names{"x", "weight", "norm_weight", "norm_bias"}));
  EXPECT_EQ(block.named(first->outputs),
            (Names{"x0", "n0.mean", "n0.var", block.left("moments", block.norm0), block.left("factors", block.norm0)}));
  EXPECT_EQ(first->attributes["statistics"], 1e-5);
  ASSERT_TRUE(block.joined(block.norm0));
  EXPECT_TRUE(block.joined(block.norm0)->outputs.empty());
  const auto second = block.joined(block.conv1);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->roles, (Names{"x", "weight", "x_factors"}));
  EXPECT_EQ(block.named(second->inputs), (Names{"x0", "w1", block.left("factors", block.norm0)}));
  const auto of_weight = block.joined(block.weight1);
  ASSERT_TRUE(of_weight);
  EXPECT_EQ(block.named(of_weight->inputs), (Names{"x0", "dx1", block.left("factors", block.norm0)}));
  const auto of_data = block.joined(block.data1);
  ASSERT_TRUE(of_data);
  EXPECT_EQ(of_data->roles, (Names{"dy", "weight", "x", "moments", "norm_weight", "norm_bias"}));
  EXPECT_EQ(block.named(of_data->inputs), (Names{"dx1", "w1", "x0", block.left("moments", block.norm0), "w", "b"}));
  EXPECT_EQ(block.named(of_data->outputs), (Names{"dn0", "dw", "db", block.left("slopes", block.norm0)}));
  EXPECT_TRUE(block.joined(block.relu0_backward)->outputs.empty());
  const auto last = block.joined(block.norm0_backward);
  ASSERT_TRUE(last);
  EXPECT_EQ(block.named(last->inputs), (Names{"x0", "dn0", block.left("slopes", block.norm0)}));
  EXPECT_EQ(block.named(last->outputs), Names{"dx0"});
}

TEST(JoinConvolutions, ASumOfGradientsIsMadeWhereItsLastIs) {
  Block block;
  const auto norm = block.joined(block.norm1);
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm->roles, (Names{"x", "weight", "bias", "residual", "mean", "var"}));
  EXPECT_EQ(block.named(norm->outputs), Names{"y1"}) << "others read it; the mask has no reader";
  const auto data = block.joined(block.data2);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->roles, (Names{"dy", "weight", "x", "moments", "norm_weight", "norm_bias", "residual", "dy2"}));
  EXPECT_EQ(block.named(data->inputs), (Names{"dx2", "w2", "x1", block.left("moments", block.norm1), "w", "b", "r", "skip"}));
  EXPECT_EQ(block.named(data->outputs)[0], "dn1");
  EXPECT_FALSE(block.joined(block.weight2)) << "it reads y1, which is there";
}

TEST(JoinConvolutions, StatisticsAlone) {
  Block block;
  const auto conv = block.joined(block.conv0, Joined::statistics), norm = block.joined(block.norm0, Joined::statistics);
  ASSERT_TRUE(conv && norm);
  EXPECT_EQ(block.named(conv->outputs), (Names{"x0", "n0.mean", "n0.var"}));
  EXPECT_EQ(norm->roles, (Names{"x", "weight", "bias", "mean", "var"}));
  EXPECT_EQ(block.named(norm->outputs), (Names{"y0", block.left("mask", block.norm0)}));
  for (StepId step : {block.weight1, block.data1, block.relu0_backward, block.norm0_backward})
    EXPECT_FALSE(block.joined(step, Joined::statistics)) << step.number();
  EXPECT_FALSE(block.joined(block.conv0, Joined::nothing));
}

TEST(JoinConvolutions, OthersThatReadWhatTheReluMakesKeepIt) {
  Block block;
  block.add("reader", {"x"}, {"y0"}, {"z"}, "else");
  EXPECT_FALSE(block.joined(block.weight1));
  ASSERT_TRUE(block.joined(block.norm0));
  EXPECT_EQ(block.named(block.joined(block.norm0)->outputs), Names{"y0"});
  EXPECT_TRUE(block.joined(block.data1)) << "the gradient is joined all the same";
}

TEST(JoinConvolutions, OthersThatReadXKeepGradientsApart) {
  Block block;
  block.add("reader", {"x"}, {"x0"}, {"z"}, "else");
  EXPECT_FALSE(block.joined(block.data1));
  ASSERT_TRUE(block.joined(block.conv0));
  EXPECT_EQ(block.joined(block.conv0)->outputs.size(), 3U);
}

}  // namespace
}  // namespace sheaf
