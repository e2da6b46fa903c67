// Steps that contradict themselves are refused with the layer, the operation and the reason.
#include "runtime/plan/op_list.h"
#include "tests/unit/runtime/cpu/step_runner.h"

#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/ops/ops.h"
#include "runtime/ops/traits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sheaf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

StepCase linear() {
  StepCase c;
  c.op = Op::linear;
  c.operands = {{"x", Tensor({3, 5})}, {"weight", Tensor({2, 5})}, {"bias", Tensor({2})}};
  c.outputs = {{3, 2}};
  return c;
}

StepCase conv() {
  StepCase c;
  c.op = Op::conv;
  c.operands = {{"x", Tensor({2, 4, 8, 8})}, {"weight", Tensor({6, 4, 3, 3})}};
  c.attributes = {{"stride", {1, 1}}, {"padding_begin", {1, 1}}, {"padding_end", {1, 1}}, {"groups", 1}};
  c.outputs = {{2, 6, 8, 8}};
  return c;
}

StepCase pool() {
  StepCase c;
  c.op = Op::max_pool;
  c.operands = {{"x", Tensor({2, 4, 8, 8})}};
  c.attributes = {{"kernel_size", {2, 2}}, {"stride", {2, 2}}};
  c.outputs = {{2, 4, 4, 4}};
  return c;
}

StepCase gru() {
  StepCase c;
  c.op = Op::gru;
  c.attributes = {{"hidden_size", 4}, {"bias", false}};
  c.operands = {{"x", Tensor({3, 2, 5})}, {"weight_ih_l0", Tensor({12, 5})}, {"weight_hh_l0", Tensor({12, 4})}};
  c.outputs = {{3, 2, 4}, {1, 2, 4}};
  return c;
}

TEST(OperationErrors, the_steps_varied_below_are_accepted_as_they_stand) {
  for (const StepCase& c : {linear(), conv(), pool(), gru()}) EXPECT_EQ(refusal(c), "");
}

TEST(OperationErrors, an_operation_of_no_library_is_named) {
  StepCase c = linear();
  c.op = Op::scatter;
  EXPECT_THAT(refusal(c), AllOf(HasSubstr("net.layer"), HasSubstr("'scatter'"), HasSubstr("no library operation")));
}

TEST(OperationErrors, each_library_operation_is_known) {
  for (size_t i = 0; i < kOps; ++i) {
    if (!is_library(static_cast<Op>(i))) continue;
    StepCase c;
    c.op = static_cast<Op>(i);
    EXPECT_THAT(refusal(c), testing::Not(HasSubstr("no library operation"))) << to_string(c.op);
  }
}

TEST(OperationErrors, recurrent_layers_are_of_float32) {
  for (const OpTraits& row : recurrent_ops()) {
    EXPECT_TRUE(bool(cpu_device()->supports(row.op, DType::float32)));
    EXPECT_FALSE(bool(cpu_device()->supports(row.op, DType::bfloat16))) << to_string(row.op);
  }
}

TEST(OperationErrors, missing_operand) {
  StepCase c = linear();
  c.operands.erase(c.operands.begin() + 1);
  EXPECT_THAT(refusal(c), AllOf(HasSubstr("net.layer"), HasSubstr("'weight' is missing")));
}

TEST(OperationErrors, shapes_that_do_not_fit) {
  StepCase c = linear();
  c.operands[0].value = Tensor({3, 4});
  EXPECT_THAT(refusal(c), HasSubstr("x [3, 4] and weight [2, 5] don't fit"));
  c = linear();
  c.operands[2].value = Tensor({3});
  EXPECT_THAT(refusal(c), HasSubstr("bias should have shape [2]"));
  c = linear();
  c.outputs = {{3, 3}};
  EXPECT_THAT(refusal(c), HasSubstr("output has shape [3, 3], expected [3, 2]"));
  c = linear();
  c.operands.push_back({"residual", Tensor({3})});
  EXPECT_THAT(refusal(c), HasSubstr("residual should have shape [3, 2]"));
  c = conv();
  c.outputs = {{2, 6, 7, 8}};
  EXPECT_THAT(refusal(c), HasSubstr("output has shape [2, 6, 7, 8], expected [2, 6, 8, 8]"));
  c = conv();
  c.operands.push_back({"residual", Tensor({2, 6, 8, 4})});
  EXPECT_THAT(refusal(c), HasSubstr("residual has shape [2, 6, 8, 4]"));
  c = pool();
  c.outputs = {{2, 4, 5, 4}};
  EXPECT_THAT(refusal(c), HasSubstr("it should be [2, 4, 4, 4]"));
  c = gru();
  c.outputs[1] = {2, 2, 4};
  EXPECT_THAT(refusal(c), HasSubstr("output 1 has shape [2, 2, 4], expected [1, 2, 4]"));
  c = gru();
  c.operands[2].value = Tensor({12, 5});
  EXPECT_THAT(refusal(c), HasSubstr("weight_hh_l0 has shape [12, 5], expected [12, 4]"));
}

TEST(OperationErrors, matmul_that_does_not_broadcast) {
  StepCase c;
  c.op = Op::matmul;
  c.operands = {{"a", Tensor({2, 3, 4})}, {"b", Tensor({3, 4, 5})}};
  c.outputs = {{2, 3, 5}};
  EXPECT_THAT(refusal(c), HasSubstr("don't broadcast"));
  c.operands[1].value = Tensor({5, 4});
  EXPECT_THAT(refusal(c), HasSubstr("don't fit"));
}

TEST(OperationErrors, attributes_outside_their_range) {
  StepCase c = conv();
  c.attributes["stride"] = {0, 1};
  EXPECT_THAT(refusal(c), HasSubstr("'stride' should be 2 integer(s) from 1"));
  c.attributes["stride"] = {1, 1, 1};
  EXPECT_THAT(refusal(c), HasSubstr("'stride'"));
  c.attributes["stride"] = {1.5, 1};
  EXPECT_THAT(refusal(c), HasSubstr("'stride'"));
  c = conv();
  c.attributes["groups"] = 3;
  EXPECT_THAT(refusal(c), HasSubstr("expects 12 input channels"));
  c = conv();
  c.attributes["groups"] = 0;
  EXPECT_NE(refusal(c), "");
  c = pool();
  c.attributes["padding"] = {2, 0};
  EXPECT_THAT(refusal(c), HasSubstr("at most half"));
  c = pool();
  c.attributes["ceil_mode"] = 1;
  EXPECT_THAT(refusal(c), HasSubstr("'ceil_mode' should be true or false"));
  c = gru();
  c.attributes["num_layers"] = 2;
  EXPECT_THAT(refusal(c), HasSubstr("output 1"));
}

TEST(OperationErrors, unknown_activation) {
  StepCase c = conv();
  c.attributes["activation"] = {{"kind", "swish2"}};
  EXPECT_THAT(refusal(c), HasSubstr("activation 'swish2' is unknown"));
  c.attributes["activation"] = "relu";
  EXPECT_THAT(refusal(c), HasSubstr("should be an object with a 'kind'"));
  c.attributes["activation"] = {{"kind", "elu"}, {"alpha", "one"}};
  EXPECT_THAT(refusal(c), HasSubstr("'alpha' should be a number"));
}

TEST(OperationErrors, other_dtypes) {
  Step step;
  step.op = Op::linear;
  step.layer = "net.fc";
  step.roles = {"x", "weight"};
  const Plan plan;
  const std::vector<TensorSpec> inputs = {plain_tensor(DType::int64, {3, 5}), plain_tensor(DType::float32, {2, 5})};
  const std::vector<TensorSpec> outputs = {plain_tensor(DType::float32, {3, 2})};
  auto prepared = prepare_on(*cpu_device(), {step, plan, inputs, outputs, 1, false, {}});
  ASSERT_FALSE(bool(prepared));
  EXPECT_THAT(prepared.error().message(), AllOf(HasSubstr("net.fc"), HasSubstr("int64, expected float32")));
}

TEST(ReorderErrors, different_shapes_or_dtypes) {
  const TensorSpec a = plain_tensor(DType::float32, {2, 3});
  EXPECT_FALSE(bool(prepare_cpu_reorder(a, plain_tensor(DType::float32, {3, 2}), 1)));
  EXPECT_FALSE(bool(prepare_cpu_reorder(a, plain_tensor(DType::int32, {2, 3}), 1)));
}

}  // namespace
}  // namespace sheaf::test
