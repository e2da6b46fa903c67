// Channels last: where elements are, and where it is the same as plain.
#include "runtime/steps/shared_format.h"
#include "runtime/cuda/format.h"

#include <gtest/gtest.h>

namespace sheaf::cuda {
namespace {

TEST(ChannelsLast, StridesAreThoseOfNhwc) {
  const TensorSpec plain = plain_tensor(DType::float32, {2, 3, 4, 5});
  const TensorSpec last = channels_last(plain);
  EXPECT_TRUE(is_channels_last(last));
  EXPECT_FALSE(is_channels_last(plain));
  EXPECT_EQ(last.dims, plain.dims);
  EXPECT_EQ(last.bytes, 2U * 3 * 4 * 5 * 4);
  EXPECT_EQ(strides_of(plain), (std::vector<int64_t>{60, 20, 5, 1}));
  EXPECT_EQ(strides_of(last), (std::vector<int64_t>{60, 1, 15, 3}));
  EXPECT_EQ(strides_of(channels_last(plain_tensor(DType::float32, {2, 3, 4, 5, 6}))),
            (std::vector<int64_t>{360, 1, 90, 18, 3}));
  EXPECT_EQ(strides_of(channels_last(plain_tensor(DType::float32, {2, 3, 4}))), (std::vector<int64_t>{12, 1, 3}));
  EXPECT_TRUE(same_format(last, channels_last(plain)));
  EXPECT_FALSE(same_format(last, plain));
  EXPECT_FALSE(last.format->name().empty());
}

TEST(ChannelsLast, ATensorThatLiesTheSameIsPlain) {
  for (const std::vector<int64_t>& dims :
       {std::vector<int64_t>{}, {7}, {7, 3}, {7, 1, 28, 28}, {7, 512, 1, 1}, {7, 1, 1, 1}, {7, 0, 2, 2}, {7, 4, 0}}) {
    EXPECT_FALSE(is_channels_last(channels_last(plain_tensor(DType::float32, dims)))) << dims.size();
  }
  EXPECT_EQ(channels_last_strides({7, 512, 1, 1}), (std::vector<int64_t>{512, 1, 512, 512}));
}

TEST(ChannelsLast, KeptThroughAnotherType) {
  const TensorSpec last = channels_last(plain_tensor(DType::float32, {2, 3, 4, 5}));
  const TensorSpec half = same_layout_of(last, DType::bfloat16);
  EXPECT_EQ(half.dtype, DType::bfloat16);
  EXPECT_EQ(half.bytes * 2, last.bytes);
  EXPECT_TRUE(is_channels_last(half));
  EXPECT_TRUE(same_layout_of(plain_tensor(DType::float32, {2, 3, 4, 5}), DType::bfloat16).plain());
}

TEST(ChannelsLast, KernelsOverElementsTakeWhatMostInputsHave) {
  const Step step;
  const Plan plan;
  const TensorSpec plain = plain_tensor(DType::float32, {2, 3, 4, 5}), last = channels_last(plain);
  const TensorSpec other_dims = plain_tensor(DType::float32, {2, 3, 4, 1});
  const auto shared = [&](std::vector<TensorSpec> inputs, std::vector<TensorSpec> outputs) {
    const PrepareRequest request{.step = step, .plan = plan, .inputs = inputs, .outputs = outputs, .constant = {}};
    const TensorSpec* format = shared_format(request, same_layout_of);
    return format && is_channels_last(*format);
  };
  EXPECT_TRUE(shared({last, last, plain}, {plain}));
  EXPECT_FALSE(shared({last, plain, plain}, {plain}));
  EXPECT_FALSE(shared({last, last, other_dims}, {plain}));
  EXPECT_FALSE(shared({last, last}, {other_dims}));
  EXPECT_TRUE(shared({last, same_layout_of(last, DType::bfloat16)}, {plain_tensor(DType::bfloat16, {2, 3, 4, 5})}));
  EXPECT_TRUE(shared({plain_tensor(DType::float32, {}), last}, {plain})) << "a scalar lies as it likes";
  EXPECT_FALSE(shared({plain_tensor(DType::float32, {})}, {plain}));
  EXPECT_FALSE(shared({}, {plain}));
}

}  // namespace
}  // namespace sheaf::cuda
