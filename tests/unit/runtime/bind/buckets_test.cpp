// torch's test_c10d_common.py, ComputeBucketAssignmentTest.
#include "runtime/bind/buckets.h"

#include <gtest/gtest.h>

namespace sheaf {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

TEST(Buckets, OneLimitThatEachTensorReaches) {
  const size_t sizes[] = {400, 800, 400, 200}, limits[] = {400};
  EXPECT_EQ(assign_buckets(sizes, limits), (Buckets{{0}, {1}, {2}, {3}}));
}

TEST(Buckets, SeveralLimitsTheLastForAllThatFollow) {
  const size_t sizes[] = {40, 40, 40, 40}, limits[] = {40, 80};
  EXPECT_EQ(assign_buckets(sizes, limits), (Buckets{{0}, {1, 2}, {3}}));
  const size_t more[] = {40, 40, 40, 40, 40, 40};
  EXPECT_EQ(assign_buckets(more, limits), (Buckets{{0}, {1, 2}, {3, 4}, {5}}));
}

TEST(Buckets, NothingAndTensorsOfNoBytes) {
  EXPECT_EQ(assign_buckets({}), Buckets{});
  const size_t sizes[] = {0, 0, 10}, limits[] = {10};
  EXPECT_EQ(assign_buckets(sizes, limits), (Buckets{{0, 1, 2}}));
}

TEST(Buckets, AsDistributedDataParallelHasThem) {
  const size_t mib = size_t{1} << 20;
  const size_t sizes[] = {mib, 20 * mib, 6 * mib, 1};
  EXPECT_EQ(assign_buckets(sizes), (Buckets{{0}, {1, 2}, {3}}));
}

}  // namespace
}  // namespace sheaf
