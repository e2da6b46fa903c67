#include "tools/verify/comparison.h"
#include "tools/verify/slices.h"
#include "tools/verify/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace sheaf {
namespace {

HostTensor floats(std::vector<int64_t> shape, const std::vector<float>& values) {
  HostTensor tensor = *make_tensor(DType::float32, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

TEST(Comparison, CountsRepresentableNumbers) {
  const float next = std::nextafter(1.0F, 2.0F);
  const Difference found = compare(floats({3}, {1, -1, 0}), floats({3}, {std::nextafter(next, 2.0F), -1, -0.0F}), 1e-3);
  EXPECT_EQ(found.elements, 3);
  EXPECT_EQ(found.differing, 2) << "zeros of two signs are other bits";
  EXPECT_EQ(found.largest_ulps, 2);
  EXPECT_EQ(found.first_beyond, -1);
  EXPECT_FALSE(found.bitwise());
}

TEST(Comparison, FindsTheFirstBeyondTheTolerance) {
  const Difference found = compare(floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1.01F, 2, 3.5F, 5}), 0.1);
  EXPECT_EQ(found.first_beyond, 2);
  EXPECT_EQ(position_of(found.first_beyond, {2, 2}), (std::vector<int64_t>{1, 0}));
  EXPECT_NEAR(found.largest_absolute, 1, 1e-6);
  EXPECT_NEAR(found.largest_relative, 0.25, 1e-6);
}

TEST(Comparison, NoNumberIsLikeNoNumberAlone) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(compare(floats({2}, {nan, inf}), floats({2}, {-nan, inf}), 0).bitwise());
  EXPECT_EQ(compare(floats({2}, {1, inf}), floats({2}, {nan, -inf}), 1e30).first_beyond, 0);
}

TEST(Comparison, ChunksMakeUpTheWhole) {
  const HostTensor whole = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  for (int dim : {0, 1}) {
    std::vector<HostTensor> parts;
    const int64_t size = whole.shape[static_cast<size_t>(dim)];
    parts.push_back(*slice(whole, dim, 0, 1));
    parts.push_back(*slice(whole, dim, 1, 1));  // an empty chunk
    parts.push_back(*slice(whole, dim, 1, size));
    EXPECT_EQ(concatenate(parts, dim)->bytes, whole.bytes) << dim;
  }
  EXPECT_EQ(slice(whole, 1, 1, 3)->bytes, floats({2, 2}, {2, 3, 5, 6}).bytes);
}

TEST(Tolerance, GrowsWithTheMagnitudesThatAreAdded) {
  const HostTensor nothing = floats({1}, {0}), thousand = floats({1}, {1000});
  const double of_one = tolerance_of_sums(nothing, floats({1}, {1}), floats({1}, {1}), 0);
  EXPECT_GT(of_one, 0x1p-24);
  EXPECT_LT(of_one, 1e-6);
  EXPECT_GT(tolerance_of_sums(nothing, thousand, thousand, 0), 1000 * of_one) << "what cancels counts";
  EXPECT_LT(tolerance_of_sums(nothing, thousand, thousand, 0), 0.01) << "of a thousand ones, one that is missing shows";
  EXPECT_EQ(tolerance_of_sums(*make_tensor(DType::int64, {1}), thousand, thousand, 0), 0) << "integers don't round";
  const HostTensor narrow = *make_tensor(DType::bfloat16, {1});
  EXPECT_GT(tolerance_of_sums(narrow, thousand, thousand, 0), tolerance_of_sums(nothing, thousand, thousand, 0))
      << "stored with fewer bits";
}

TEST(Tolerance, HoldsForTermsThatAreAllAlike) {
  for (int count : {10, 100, 290, 1000}) {
    const float term = 0.275173128F / static_cast<float>(count);
    float added = 0;
    for (int i = 0; i < count; ++i) added += term;
    const double exact = static_cast<double>(term) * count;
    const HostTensor sum = floats({1}, {added}), terms = floats({1}, {static_cast<float>(count)});
    EXPECT_LT(2 * std::abs(added - exact), tolerance_of_sums(sum, sum, terms, 0)) << count;
    EXPECT_GT(exact / 1000, 10 * tolerance_of_sums(sum, sum, terms, 0)) << "one term in a thousand";
  }
}

TEST(Tolerance, GrowsWithWhatRoundingsOfTheOperandsMove) {
  const HostTensor ones = floats({4}, {1, 1, 1, 1});
  EXPECT_LT(tolerance_of(ones, 0, 1, 1, DType::float32), 1e-5);
  EXPECT_GT(tolerance_of(ones, 0, 1, 1e6, DType::float32), 10 * tolerance_of(ones, 0, 1, 1, DType::float32));
  EXPECT_LT(tolerance_of(ones, 0, 1, 1e6, DType::float32), 1e-3);
  EXPECT_GT(tolerance_of(ones, 1, 1, 1, DType::float32), 1)
      << "where the result hangs on the last bit of the operands, much is rounding";
  EXPECT_GT(tolerance_of(ones, 1, 1e4, 1, DType::float32), 1e3) << "in magnitude many terms are more than their random sum";
  EXPECT_EQ(tolerance_of(*make_tensor(DType::int64, {4}), 1, 1e6, 1e6, DType::float32), 0) << "integers don't round";
}

TEST(Tolerance, PerturbsTowardsZeroByDifferentAmounts) {
  const HostTensor tensor = floats({256}, std::vector<float>(256, -3));
  const HostTensor moved = perturbed(tensor, 0x1p-20, 1);
  int far = 0;
  for (float value : moved.as<float>()) {
    EXPECT_GT(value, -3) << "what is at the end of a range (1 of a sigmoid) must not leave it";
    EXPECT_NEAR(value, -3, 1e-5);
    far += value > -3 + 5e-6;
  }
  EXPECT_GT(far, 64);
  EXPECT_LT(far, 192);
  EXPECT_NE(perturbed(tensor, 0x1p-20, 2).bytes, moved.bytes);
  const HostTensor integers = *make_tensor(DType::int64, {4});
  EXPECT_EQ(perturbed(integers, 0.5, 1).bytes, integers.bytes);
}

}  // namespace
}  // namespace sheaf
