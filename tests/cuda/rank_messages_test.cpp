// Messages between two members of an NCCL communicator that join one by one, as GPUs of two processes do, with stand-ins for the driver
// and NCCL: nothing waits on the host, and mistakes are found.
#include "runtime/cuda/nvidia_backend.h"
#include "runtime/cuda/vendor/driver.h"
#include "runtime/cuda/vendor/nccl_ranks.h"
#include "tests/cuda/stand_in/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace sheaf::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RankMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    live_before = stand_in::live();
    driver = std::move(*open_nvidia_driver());
    for (int device : {0, 1}) {
      streams.push_back(*driver->make_stream(device));
      memory.push_back(static_cast<char*>(*driver->allocate(device, kBytes)));
    }
    host = static_cast<char*>(*driver->allocate_pinned(kBytes));
    name = *NcclRankCommunicator::new_name();
  }
  void TearDown() override {
    stand_in::set_async_error(ncclSuccess);
    ranks.clear();
    for (size_t rank : {0, 1}) {
      driver->release(int(rank), memory[rank]);
      driver->destroy(streams[rank]);
    }
    driver->release_pinned(host);
    EXPECT_THAT(stand_in::take_faults(), IsEmpty());
    EXPECT_EQ(stand_in::live(), live_before);
  }

  void join(int rank) {
    auto joined = NcclRankCommunicator::join(*driver, rank, name, rank, 2);
    ASSERT_TRUE(joined) << joined.error().message();
    ranks.push_back(std::move(*joined));
  }
  void join_both() {
    for (int rank : {0, 1}) join(rank);
    for (size_t rank : {0, 1}) EXPECT_TRUE(settles(rank));
  }
  /// Whether its last call is carried out while no other member does anything.
  bool settles(size_t rank) {
    for (int questions = 0; questions < 10; ++questions)
      if (auto ready = ranks[rank]->ready(); ready && *ready) return true;
    return false;
  }
  /// The first message between them takes both to connect.
  void settle_both() {
    EXPECT_TRUE(settles(1) || settles(0));
    EXPECT_TRUE(settles(0) && settles(1));
  }
  void finish() {
    for (auto& rank : ranks) EXPECT_TRUE(rank->finish());
    EXPECT_TRUE(settles(0) && settles(1));
  }
  Result<void> exchange(size_t rank, const std::vector<RankMessage>& messages, const std::vector<size_t>& at) {
    std::vector<void*> buffers;
    for (const size_t offset : at) buffers.push_back(memory[rank] + offset);
    return ranks[rank]->exchange(messages, buffers.data(), streams[rank]);
  }
  static RankMessage to(int rank, size_t bytes) { return {true, rank, bytes, "a test"}; }
  static RankMessage from(int rank, size_t bytes) { return {false, rank, bytes, "a test"}; }

  void write(size_t rank, size_t offset, const std::vector<int>& values) {
    std::memcpy(host, values.data(), values.size() * sizeof(int));
    EXPECT_TRUE(
        driver->copy(streams[rank], memory[rank] + offset, int(rank), host, kHost, {values.size() * sizeof(int), 1, 0, 0}));
    EXPECT_TRUE(*driver->done(streams[rank]));
  }
  std::vector<int> read(size_t rank, size_t offset, size_t count) {
    EXPECT_TRUE(driver->copy(streams[rank], host, kHost, memory[rank] + offset, int(rank), {count * sizeof(int), 1, 0, 0}));
    EXPECT_TRUE(*driver->done(streams[rank]));
    std::vector<int> values(count);
    std::memcpy(values.data(), host, count * sizeof(int));
    return values;
  }

  static constexpr size_t kBytes = 4096;
  std::map<std::string, size_t> live_before;
  std::unique_ptr<Driver> driver;
  std::string name;
  std::vector<std::unique_ptr<NcclRankCommunicator>> ranks;
  std::vector<Stream> streams;
  std::vector<char*> memory;
  char* host = nullptr;
};

TEST_F(RankMessages, JoiningWaitsForNobodyOnTheHost) {
  join(0);
  EXPECT_FALSE(settles(0));
  join(1);
  EXPECT_TRUE(settles(0));
  EXPECT_TRUE(settles(1));
  ASSERT_TRUE(ranks[0]->finish());
  EXPECT_FALSE(settles(0)) << "the other may still send";
  ASSERT_TRUE(ranks[1]->finish());
  EXPECT_TRUE(settles(0));
  EXPECT_TRUE(settles(1));
}

TEST_F(RankMessages, AMessageWaitsInItsStreamAloneOnceThereIsAConnection) {
  join_both();
  for (int round = 0; round < 3; ++round) {
    write(0, 0, {round, 7});
    ASSERT_TRUE(exchange(0, {to(1, 8)}, {0}));
    EXPECT_EQ(settles(0), round > 0);
    ASSERT_TRUE(exchange(1, {from(0, 8)}, {256}));
    settle_both();
    EXPECT_THAT(read(1, 256, 2), ElementsAre(round, 7));
    EXPECT_TRUE(*driver->done(streams[0]));
  }
  ASSERT_TRUE(exchange(0, {to(1, 8)}, {0}));
  EXPECT_TRUE(settles(0));
  EXPECT_FALSE(*driver->done(streams[0]));
  ASSERT_TRUE(exchange(1, {from(0, 8)}, {256}));
  EXPECT_TRUE(settles(1));
  EXPECT_TRUE(*driver->done(streams[0]));
  finish();
}

TEST_F(RankMessages, BothDirectionsGoInOneGroup) {
  join_both();
  write(0, 0, {1, 2, 3});
  write(1, 0, {4, 5});
  ASSERT_TRUE(exchange(0, {to(1, 12), from(1, 8)}, {0, 512}));
  ASSERT_TRUE(exchange(1, {to(0, 8), from(0, 12)}, {0, 512}));
  settle_both();
  EXPECT_THAT(read(0, 512, 2), ElementsAre(4, 5));
  EXPECT_THAT(read(1, 512, 3), ElementsAre(1, 2, 3));
  finish();
}

TEST_F(RankMessages, MistakesAreFound) {
  EXPECT_THAT(NcclRankCommunicator::join(*driver, 0, "c5", 0, 2).error().message(), HasSubstr("another length"));
  EXPECT_THAT(NcclRankCommunicator::join(*driver, 0, std::string(256, 'x'), 0, 2).error().message(), HasSubstr("hexadecimal"));
  EXPECT_FALSE(NcclRankCommunicator::join(*driver, 0, std::string(256, '0'), 0, 2));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre(HasSubstr("an id that ncclGetUniqueId didn't make")));
  join(0);
  EXPECT_FALSE(NcclRankCommunicator::join(*driver, 1, name, 0, 2));
  EXPECT_FALSE(NcclRankCommunicator::join(*driver, 0, name, 1, 2));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre(HasSubstr("rank 0 of 2, twice"), HasSubstr("a device twice")));
  EXPECT_FALSE(exchange(0, {to(1, 8)}, {0}));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre("ncclSend: before the last call was carried out"));
  join(1);
  EXPECT_TRUE(settles(0) && settles(1));
  ASSERT_TRUE(exchange(0, {to(1, 8)}, {0}));
  const auto other = exchange(1, {from(0, 12)}, {0});
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("rank 1 has a receive of 12 of type 0, peer 0 where rank 0 has a send of 8"));
  EXPECT_FALSE(ranks[0]->finish());
  EXPECT_THAT(stand_in::take_faults(),
              ElementsAre(HasSubstr("rank 1 has a receive"), "ncclCommFinalize: before the last call was carried out"));
  for (auto& rank : ranks) rank->abort();
}

TEST_F(RankMessages, AnAbortEndsWorkThatWaits) {
  join_both();
  ASSERT_TRUE(exchange(0, {from(1, 8)}, {0}));
  ASSERT_TRUE(exchange(1, {to(0, 8)}, {0}));
  settle_both();
  ASSERT_TRUE(exchange(0, {from(1, 8)}, {0}));
  EXPECT_TRUE(settles(0));
  EXPECT_FALSE(*driver->done(streams[0]));
  ranks[0]->abort();
  EXPECT_TRUE(*driver->done(streams[0]));
  ranks[0]->abort();  // does no harm
  ranks[1]->abort();
}

TEST_F(RankMessages, FailuresInTheBackgroundAreReported) {
  join_both();
  stand_in::set_async_error(ncclRemoteError);
  const auto ready = ranks[0]->ready();
  ASSERT_FALSE(ready);
  EXPECT_THAT(ready.error().message(), HasSubstr("network error"));
  for (auto& rank : ranks) rank->abort();
}

TEST(RankLibrary, IsNamedWithItsVersion) {
  auto backend = nvidia_backend();
  ASSERT_TRUE(backend);
  EXPECT_EQ(*(*backend)->rank_library(), "NCCL 2.28.9");
  EXPECT_NE(*(*backend)->new_rank_communicator(), *(*backend)->new_rank_communicator());
}

}  // namespace
}  // namespace sheaf::cuda
