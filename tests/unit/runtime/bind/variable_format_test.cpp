// The format in which variables are kept: no step reorders them, and callers that read or set them see plain tensors.
#include "tests/fixtures/convolution_training.h"
#include "runtime/plan/op_list.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

TEST(VariableFormat, IsThatOfTheFirstReaderAndNoStepReordersIt) {
  const auto host = std::make_shared<KernelDevice>();
  const Model model = ConvolutionPlan(true).model();
  auto trainer = trainer_of(model, training_devices(1, host), 4);
  ASSERT_TRUE(trainer) << to_string(trainer.error());
  for (const char* name : {"w.m", "dw1", "dw1.sum", "dw2", "dw2.sum", "new_w", "new_m", "half"})
    EXPECT_EQ(count(*trainer, Op::reorder, name), 0) << name;
  EXPECT_LE(count(*trainer, Op::reorder, "w"), 1) << "for the gradient by images, which may want another";
  const auto& all = trainer->binding().info().operations;
  const auto conv = std::find_if(all.begin(), all.end(), [](const OperationInfo& info) { return info.op == Op::conv; });
  EXPECT_FALSE(conv->input_specs[1].plain()) << "or this test shows nothing";
  EXPECT_EQ(trainer->binding().info().parameter_bytes, 2 * 16 * 16 * 9 * sizeof(float));

  // A session that existed before has settled it as plain: other formats, the same bits.
  const Model plain = ConvolutionPlan(true).model();
  const auto devices = training_devices(1, host);
  auto session = plain.bind(devices, 4);
  ASSERT_TRUE(session) << to_string(session.error());
  auto slower = trainer_of(plain, devices, 4);
  ASSERT_TRUE(slower) << to_string(slower.error());
  EXPECT_GT(count(*slower, Op::reorder, "w"), count(*trainer, Op::reorder, "w"));
  const Trained expected = train(plain, *slower, 4), found = train(model, *trainer, 4);
  EXPECT_EQ(found, expected);
  EXPECT_LT(found.losses.back(), found.losses.front());
}

TEST(VariableFormat, IsKeptByAllBindingsOfTheModel) {
  const auto host = std::make_shared<KernelDevice>();
  const Model model = ConvolutionPlan(true).model();
  const auto devices = training_devices(2, host);
  auto whole = trainer_of(model, devices, 5), rest = trainer_of(model, devices, 2);
  auto session = model.bind(devices, 3);
  ASSERT_TRUE(whole && rest && session);
  EXPECT_EQ(count(*rest, Op::reorder, "w"), count(*whole, Op::reorder, "w"));
  train(model, *whole, 5, 2);
  train(model, *rest, 2, 1);
  const ConvolutionBatch batch(3);
  std::vector<float> y(3 * 400), expected(y.size());
  const void* in[] = {batch.x.data()};
  void *out[] = {y.data()}, *wanted[] = {expected.data()};
  ASSERT_TRUE(session->run(in, out));
  // A model that is given the weights as they are now.
  const Model other = ConvolutionPlan(true).model();
  Model copy = other;
  const auto w = parameter_values(model, 0);
  ASSERT_TRUE(copy.set_parameters(std::vector<TensorView>{{"w", DType::float32, {16, 16, 3, 3}, w.data()}}));
  auto fresh = copy.bind(devices, 3);
  ASSERT_TRUE(fresh && fresh->run(in, wanted));
  EXPECT_EQ(y, expected);
}

}  // namespace
}  // namespace sheaf
