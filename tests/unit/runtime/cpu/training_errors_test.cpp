// Training steps that contradict themselves are refused; a non-finite loss is reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/cpu/ops/ops.h"
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/training_runner.h"

namespace sheaf::test {
namespace {

using testing::HasSubstr;

std::string refusal(const TrainingStep& step) {
  auto run = run_training(step);
  return run ? "" : run.error().message();
}

TrainingStep conv_backward_data() {
  TrainingStep step;
  step.op = Op::conv_backward_data;
  step.operands = {{"dy", store(Tensor({2, 6, 4, 4}))}, {"weight", store(Tensor({6, 4, 3, 3}))}};
  step.attributes = {{"stride", {2, 2}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"size", {7, 8}}};
  step.outputs = {{2, 4, 7, 8}};
  return step;
}

TrainingStep batch_norm_train() {
  TrainingStep step;
  step.op = Op::batch_norm_train;
  step.operands = {{"x", store(Tensor({2, 16, 3, 3}))}};
  step.attributes = {{"eps", 1e-5}, {"activation", {{"kind", "relu"}}}};
  step.outputs = {{2, 16, 3, 3}, {16}, {16}, {1}};
  step.workspace = 3;
  return step;
}

TEST(TrainingErrors, shapes_and_attributes_of_gradients) {
  EXPECT_EQ(refusal(conv_backward_data()), "") << "one and the same dy has two sizes of x";
  TrainingStep step = conv_backward_data();
  step.attributes["size"] = {9, 8};
  EXPECT_THAT(refusal(step), HasSubstr("output has shape [2, 4, 7, 8], expected [2, 4, 9, 8]"));
  step.outputs = {{2, 4, 9, 8}};
  EXPECT_THAT(refusal(step), HasSubstr("dy has shape [2, 6, 4, 4], expected [2, 6, 5, 4]"));
  step = conv_backward_data();
  step.attributes.erase("size");
  EXPECT_THAT(refusal(step), HasSubstr("'size' is missing"));
  step = {};
  step.op = Op::linear_backward_weight;
  step.operands = {{"x", store(Tensor({3, 5}))}, {"dy", store(Tensor({3, 2}))}};
  step.outputs = {{2, 5}};
  EXPECT_EQ(refusal(step), "");
  step.attributes["bias"] = true;
  EXPECT_THAT(refusal(step), HasSubstr("expected dweight and dbias"));
  step.operands[1].second = store(Tensor({4, 2}));
  step.attributes["bias"] = false;
  EXPECT_THAT(refusal(step), HasSubstr("x [3, 5] and dy [4, 2] don't fit"));
}

TEST(TrainingErrors, batch_norm) {
  EXPECT_EQ(refusal(batch_norm_train()), "");
  TrainingStep step = batch_norm_train();
  step.operands = {{"x", store(Tensor({1, 16, 1, 1}))}};
  EXPECT_THAT(refusal(step), HasSubstr("expected more than 1 value per channel when training, got input size [1, 16, 1, 1]"));
  step = batch_norm_train();
  step.attributes["activation"] = {{"kind", "leaky_relu"}, {"negative_slope", 0.1}};
  EXPECT_THAT(refusal(step), HasSubstr("only relu"));
  step = batch_norm_train();
  step.operands.emplace_back("weight", store(Tensor({16})));
  EXPECT_THAT(refusal(step), HasSubstr("given together"));
  step = batch_norm_train();
  step.workspace = -1;
  EXPECT_THAT(refusal(step), HasSubstr("should be uint8"));
}

TEST(TrainingErrors, a_workspace_of_another_step) {
  auto norm = run_training(batch_norm_train());
  ASSERT_TRUE(bool(norm));
  TrainingStep step;
  step.op = Op::max_pool_backward;
  step.attributes = {{"kernel_size", {2, 2}}, {"stride", {2, 2}}, {"size", {4, 4}}};
  step.operands = {{"dy", store(Tensor({2, 16, 2, 2}))}};
  step.outputs = {{2, 16, 4, 4}};
  EXPECT_THAT(refusal(step), HasSubstr("'workspace' is missing"));
  step.operands.emplace_back("workspace", norm->outputs[3]);
  EXPECT_THAT(refusal(step), HasSubstr("not one that max_pool_train made"));
}

TEST(TrainingErrors, reduce_of_different_shapes) {
  TrainingStep step;
  step.op = Op::reduce;
  step.operands = {{"x0", store(Tensor({2, 3}))}, {"x1", store(Tensor({3, 2}))}};
  step.outputs = {{2, 3}};
  EXPECT_THAT(refusal(step), HasSubstr("x1 has shape [3, 2]"));
}

TEST(CheckFinite, tells_of_a_loss_that_is_not) {
  Step step;
  step.op = Op::check_finite;
  step.roles = {"x"};
  const Plan plan;
  std::vector<TensorSpec> inputs = {plain_tensor(DType::float32, {})};
  auto prepared = prepare_cpu_library_op({step, plan, inputs, {}, 1, false, {}});
  ASSERT_TRUE(bool(prepared)) << to_string(prepared.error());
  EXPECT_TRUE(prepared->can_fail);
  EXPECT_TRUE(prepared->outputs.empty());
  const float infinity = std::numeric_limits<float>::infinity();
  for (float value :
       {1.5f, infinity, 0.f, -infinity, std::numeric_limits<float>::max(), std::numeric_limits<float>::quiet_NaN()}) {
    void* buffers[] = {&value};
    prepared->executable->run(buffers, nullptr);
    const bool finite = value - value == 0;
    EXPECT_EQ(prepared->executable->failed(0), !finite) << value;
    EXPECT_EQ(prepared->executable->failure(0), finite ? "" : "the loss is not finite");
  }
  inputs = {plain_tensor(DType::float32, {2})};
  EXPECT_FALSE(bool(prepare_cpu_library_op({step, plan, inputs, {}, 1, false, {}})));
}

}  // namespace
}  // namespace sheaf::test
