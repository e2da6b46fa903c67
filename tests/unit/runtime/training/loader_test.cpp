// The order of rows, and batches prepared ahead.
#include "runtime/training/shuffle.h"
#include "tests/unit/runtime/training/fake_learner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

namespace sheaf::training_tests {
namespace {

using testing::ElementsAre;

std::vector<int64_t> order_of(size_t rows, bool shuffled, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(rows);
  epoch_order(order, shuffled, seed, epoch);
  return order;
}

TEST(Shuffle, IsAPermutation) {
  for (const size_t rows : {0, 1, 2, 3, 10, 1000}) {
    auto order = order_of(rows, true, 5, 2);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, order_of(rows, false, 0, 0)) << rows;
  }
}

// The same on every machine and in every later version: a checkpoint relies on it.
TEST(Shuffle, IsTheSameEverywhere) { EXPECT_THAT(order_of(8, true, 0, 0), ElementsAre(0, 4, 7, 2, 5, 3, 1, 6)); }

TEST(Shuffle, DependsOnSeedAndEpoch) {
  EXPECT_NE(order_of(100, true, 0, 0), order_of(100, true, 1, 0));
  EXPECT_NE(order_of(100, true, 0, 0), order_of(100, true, 0, 1));
  EXPECT_EQ(order_of(100, true, 3, 4), order_of(100, true, 3, 4));
}

TEST(Shuffle, EachRowComesToEachPlaceEquallyOften) {
  constexpr int kRows = 5, kEpochs = 5000;
  std::vector<int> counts(kRows * kRows);
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const auto order = order_of(kRows, true, 1, epoch);
    for (size_t place = 0; place < kRows; ++place) ++counts[place * kRows + static_cast<size_t>(order[place])];
  }
  // 1000 expected, standard deviation 28: five of them.
  for (const int count : counts) EXPECT_NEAR(count, kEpochs / kRows, 142);
}

struct Taken {
  int64_t epoch, position;
  std::vector<int64_t> rows;
  bool operator==(const Taken&) const = default;
};

std::vector<Taken> take_all(const Dataset& data, const LoaderOptions& options, int slow_every = 0) {
  auto loader = BatchLoader::start(data, options);
  EXPECT_TRUE(loader);
  std::vector<Taken> all;
  for (;;) {
    const auto next = (*loader)->next();
    EXPECT_TRUE(next);
    if (!next || !*next) break;
    const std::optional<Batch>& batch = *next;
    Taken taken{batch->epoch, batch->position, {}};
    const auto* x = static_cast<const float*>(batch->buffers[0]);
    const auto* label = static_cast<const int64_t*>(batch->buffers[1]);
    // This would reveal a loader that runs on into the current batch.
    if (slow_every > 0 && all.size() % static_cast<size_t>(slow_every) == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int64_t i = 0; i < batch->rows; ++i) {
      taken.rows.push_back(static_cast<int64_t>(x[2 * i]));
      EXPECT_EQ(x[2 * i + 1], x[2 * i] + 0.5F);
      EXPECT_EQ(label[i], taken.rows.back() % 3) << "rows of different tensors mixed up";
    }
    all.push_back(std::move(taken));
  }
  return all;
}

TEST(Loader, InOrderWithASmallerLastBatch) {
  const Dataset data = numbered_rows(7);
  LoaderOptions options;
  options.batch_size = 3;
  options.shuffle = false;
  options.batches = 5;
  EXPECT_EQ(take_all(data, options),
            (std::vector<Taken>{{0, 0, {0, 1, 2}}, {0, 1, {3, 4, 5}}, {0, 2, {6}}, {1, 0, {0, 1, 2}}, {1, 1, {3, 4, 5}}}));
}

TEST(Loader, ShuffledAsTheEpochsOrderSays) {
  const Dataset data = numbered_rows(50);
  LoaderOptions options;
  options.batch_size = 8;
  options.seed = 9;
  options.batches = 3 * 7;
  std::vector<int64_t> seen;
  for (const Taken& taken : take_all(data, options, 3)) seen.insert(seen.end(), taken.rows.begin(), taken.rows.end());
  std::vector<int64_t> expected;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    const auto order = order_of(50, true, 9, epoch);
    expected.insert(expected.end(), order.begin(), order.end());
  }
  EXPECT_EQ(seen, expected);
}

TEST(Loader, BeginsAnywhere) {
  const Dataset data = numbered_rows(23);
  LoaderOptions options;
  options.batch_size = 4;
  options.seed = 2;
  options.batches = 18;
  const auto all = take_all(data, options);
  for (int64_t skip = 0; skip < 18; ++skip) {
    LoaderOptions later = options;
    later.epoch = skip / 6;
    later.position = skip % 6;
    later.batches = options.batches - skip;
    EXPECT_EQ(take_all(data, later), std::vector<Taken>(all.begin() + skip, all.end())) << skip;
  }
}

TEST(Loader, MoreRowsABatchThanThereAre) {
  const Dataset data = numbered_rows(3);
  LoaderOptions options;
  options.batch_size = 100;
  options.shuffle = false;
  options.batches = 2;
  EXPECT_EQ(take_all(data, options), (std::vector<Taken>{{0, 0, {0, 1, 2}}, {1, 0, {0, 1, 2}}}));
}

TEST(Loader, ReadsOnlyTheRowsThatAreNeeded) {
  const Dataset data = numbered_rows(7);
  LoaderOptions options;
  options.batch_size = 4;
  options.shuffle = false;
  options.batches = 2;
  options.needed[4] = {{{1, 2}}, {{0, 1}, {3, 1}}};  // of the last batch's three rows all
  const auto loader = BatchLoader::start(data, options);
  ASSERT_TRUE(loader);
  const auto firsts = [&](const Batch& batch) {
    std::vector<float> found;
    for (int64_t i = 0; i < batch.rows; ++i) found.push_back(static_cast<const float*>(batch.buffers[0])[2 * i]);
    return found;
  };
  auto batch = (*loader)->next();
  ASSERT_TRUE(batch && *batch);
  EXPECT_THAT(firsts(**batch), ElementsAre(0, 1, 2, 0)) << "a batch's memory begins as zeros";
  EXPECT_EQ(static_cast<const int64_t*>((*batch)->buffers[1])[3], 0);
  batch = (*loader)->next();
  ASSERT_TRUE(batch && *batch);
  EXPECT_THAT(firsts(**batch), ElementsAre(4, 5, 6));
}

TEST(Loader, DropsWhatIsLeftOver) {
  const Dataset data = numbered_rows(7);
  LoaderOptions options;
  options.batch_size = 3;
  options.shuffle = false;
  options.drop_last = true;
  options.batches = 3;
  EXPECT_EQ(take_all(data, options), (std::vector<Taken>{{0, 0, {0, 1, 2}}, {0, 1, {3, 4, 5}}, {1, 0, {0, 1, 2}}}));
}

TEST(Loader, ManyThreadsGiveTheSameBatches) {
  const Dataset data = numbered_rows(50);
  LoaderOptions options;
  options.batch_size = 8;
  options.seed = 4;
  options.batches = 40;
  const auto alone = take_all(data, options);
  options.threads = 5;
  EXPECT_EQ(take_all(data, options, 7), alone);
}

/// While a step is under way, the batch of the one before may still be read.
TEST(Loader, TheBatchesInUseStayAsTheyAre) {
  const Dataset data = numbered_rows(40);
  LoaderOptions options;
  options.batch_size = 2;
  options.shuffle = false;
  options.batches = 60;
  options.in_use = 2;
  auto loader = BatchLoader::start(data, options);
  ASSERT_TRUE(loader);
  std::optional<Batch> before;
  for (int64_t i = 0; i < 60; ++i) {
    auto batch = (*loader)->next();
    ASSERT_TRUE(batch && *batch);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // others are read meanwhile
    if (before) {
      EXPECT_EQ(static_cast<const float*>(before->buffers[0])[0], static_cast<float>((i - 1) * 2 % 40));
    }
    EXPECT_EQ(static_cast<const float*>((*batch)->buffers[0])[0], static_cast<float>(i * 2 % 40));
    before = **batch;
  }
  EXPECT_FALSE(*(*loader)->next());
}

TEST(Loader, EndsAtAnyMoment) {
  const Dataset data = numbered_rows(100);
  for (int taken = 0; taken < 8; ++taken) {
    LoaderOptions options;
    options.batch_size = 3;
    options.batches = 1'000'000;
    auto loader = BatchLoader::start(data, options);
    ASSERT_TRUE(loader);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(*(*loader)->next());
  }
}

TEST(Loader, AReadyBatchTakesNoWait) {
  const Dataset data = numbered_rows(100);
  LoaderOptions options;
  options.batch_size = 10;
  options.batches = 10;
  auto loader = BatchLoader::start(data, options);
  ASSERT_TRUE(loader);
  ASSERT_TRUE((*loader)->next());
  const double first = (*loader)->waited_seconds();
  for (int i = 0; i < 9; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE((*loader)->next());
  }
  EXPECT_LT((*loader)->waited_seconds() - first, 0.1) << "nine steps of 20 ms each are time enough for ten rows";
}

// Rows along dimension 1, as sequences have them, and a tensor without rows.
TEST(Loader, TheNextBatchCanBeSeenOnceItIsReady) {
  const Dataset data = numbered_rows(10);
  LoaderOptions options;
  options.batch_size = 4;
  options.batches = 3;
  auto loader = BatchLoader::start(data, options);
  ASSERT_TRUE(loader);
  ASSERT_TRUE((*loader)->next());
  std::span<const void* const> seen;
  for (int i = 0; i < 5000 && seen.empty(); ++i) {
    seen = (*loader)->next_if_ready(4);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE((*loader)->next_if_ready(2).empty()) << "it has other rows";
  auto next = (*loader)->next();
  ASSERT_TRUE(next && *next);
  EXPECT_TRUE(std::ranges::equal((*next)->buffers, seen));
  EXPECT_TRUE((*loader)->next_if_ready(4).empty()) << "the last has two rows";
  ASSERT_TRUE((*loader)->next());
  EXPECT_TRUE((*loader)->next_if_ready(2).empty()) << "there are no more";
}

TEST(Dataset, RowsAlongAnyDimension) {
  auto sequence = make_tensor(DType::float32, {2, 4, 3});
  auto fixed = make_tensor(DType::int32, {2});
  ASSERT_TRUE(sequence && fixed);
  std::iota(sequence->as<float>().begin(), sequence->as<float>().end(), 0.0F);
  fixed->as<int32_t>()[1] = 7;
  std::vector<HostTensor> tensors;
  tensors.push_back(std::move(*sequence));
  tensors.push_back(std::move(*fixed));
  const Extent batch = Extent::symbol("batch");
  auto data = Dataset::make({{"s", DType::float32, {2, batch, 3}, 1}, {"f", DType::int32, {2}, -1}}, std::move(tensors));
  ASSERT_TRUE(data);
  EXPECT_EQ(data->rows(), 4);
  EXPECT_THAT(data->source(0).batch_shape(2), ElementsAre(2, 2, 3));
  std::vector<float> taken(12);
  const std::vector<int64_t> order{3, 1};
  ASSERT_TRUE(data->source(0).read(order, 0, {reinterpret_cast<std::byte*>(taken.data()), 2, 0}));
  EXPECT_THAT(taken, ElementsAre(9, 10, 11, 3, 4, 5, 21, 22, 23, 15, 16, 17));
  std::vector<int32_t> whole(2);
  ASSERT_TRUE(data->source(1).read(std::vector<int64_t>{0}, 0, {reinterpret_cast<std::byte*>(whole.data()), 1, 0}));
  EXPECT_THAT(whole, ElementsAre(0, 7));
}

TEST(Dataset, RefusesRowsThatDiffer) {
  std::vector<HostTensor> tensors;
  tensors.push_back(*make_tensor(DType::float32, {4}));
  tensors.push_back(*make_tensor(DType::float32, {5}));
  const Extent batch = Extent::symbol("batch");
  const std::vector<ValueInfo> values{{"x", DType::float32, {batch}, 0}, {"y", DType::float32, {batch}, 0}};
  auto data = Dataset::make(values, std::move(tensors));
  ASSERT_FALSE(data);
  EXPECT_THAT(data.error().message(), testing::AllOf(testing::HasSubstr("'x' has 4"), testing::HasSubstr("'y' has 5")));

  std::vector<HostTensor> none;
  none.push_back(*make_tensor(DType::float32, {0}));
  EXPECT_FALSE(Dataset::make({values[0]}, std::move(none))->require_rows());
  std::vector<HostTensor> fixed;
  fixed.push_back(*make_tensor(DType::float32, {3}));
  EXPECT_FALSE(Dataset::make({{"x", DType::float32, {3}, -1}}, std::move(fixed))->require_rows());
}

}  // namespace
}  // namespace sheaf::training_tests
