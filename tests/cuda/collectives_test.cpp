// Collectives of two GPUs through the product's own communicator, with stand-ins for the driver and NCCL: data, order, connections,
// aborts, and mistakes that must be found.
#include "runtime/cuda/vendor/driver.h"
#include "runtime/cuda/vendor/nccl.h"
#include "tests/cuda/stand_in/nccl.h"
#include "tests/cuda/stand_in/numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace sheaf::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Collectives : public ::testing::Test {
 protected:
  void SetUp() override {
    live_before = stand_in::live();
    driver = std::move(*open_nvidia_driver());
    std::string why;
    communicator = *open_nccl(*driver, std::vector<int>{0, 1}, why);
    ASSERT_TRUE(communicator) << why;
    for (int device : {0, 1}) {
      streams.push_back(*driver->make_stream(device));
      memory.push_back(static_cast<char*>(*driver->allocate(device, kBytes)));
    }
    host = static_cast<char*>(*driver->allocate_pinned(kBytes));
  }
  void TearDown() override {
    stand_in::set_async_error(ncclSuccess);
    std::thread([this] { communicator.reset(); }).join();  // by a thread on which no device is current
    for (size_t rank : {0, 1}) {
      driver->release(int(rank), memory[rank]);
      driver->destroy(streams[rank]);
    }
    driver->release_pinned(host);
    EXPECT_THAT(stand_in::take_faults(), IsEmpty());
    EXPECT_EQ(stand_in::live(), live_before);
  }

  static CollectiveRequest request(CollectiveRequest::Kind kind, int root, std::vector<size_t> parts,
                                   DType dtype = DType::float32) {
    CollectiveRequest made;
    made.kind = kind;
    made.root = root;
    made.parts = std::move(parts);
    made.dtype = dtype;
    made.what = "a test";
    return made;
  }
  /// `at`: offsets of the rank's buffers in its memory.
  Result<void> enqueue(std::vector<Prepared>& prepared, size_t rank, const std::vector<size_t>& at) {
    std::vector<void*> buffers;
    for (const size_t offset : at) buffers.push_back(memory[rank] + offset);
    Enqueue where;
    where.stream = streams[rank];
    where.buffers = buffers.data();
    return dynamic_cast<Operation&>(*prepared[rank].executable).enqueue(where);
  }
  template <typename T>
  void write(size_t rank, size_t offset, const std::vector<T>& values) {
    std::memcpy(host, values.data(), values.size() * sizeof(T));
    EXPECT_TRUE(
        driver->copy(streams[rank], memory[rank] + offset, int(rank), host, kHost, {values.size() * sizeof(T), 1, 0, 0}));
    EXPECT_TRUE(*driver->done(streams[rank]));
  }
  template <typename T>
  std::vector<T> read(size_t rank, size_t offset, size_t count) {
    EXPECT_TRUE(driver->copy(streams[rank], host, kHost, memory[rank] + offset, int(rank), {count * sizeof(T), 1, 0, 0}));
    EXPECT_TRUE(*driver->done(streams[rank]));
    std::vector<T> values(count);
    std::memcpy(values.data(), host, count * sizeof(T));
    return values;
  }

  static constexpr size_t kBytes = 4096;
  std::map<std::string, size_t> live_before;
  std::unique_ptr<Driver> driver;
  std::shared_ptr<Communicator> communicator;
  std::vector<Stream> streams;
  std::vector<char*> memory;
  char* host = nullptr;
};

TEST_F(Collectives, AMemberWaitsInItsStreamAlone) {
  auto prepared = communicator->prepare(request(CollectiveRequest::broadcast, 1, {16, 8}));
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ((*prepared)[0].implementation, "NCCL 2.28.9");
  write<int>(1, 0, {1, 2, 3, 4});
  write<int>(1, 512, {5, 6});
  write<int>(0, 0, {0, 0, 0, 0});
  ASSERT_TRUE(enqueue(*prepared, 0, {0, 256}));
  EXPECT_FALSE(*driver->done(streams[0]));
  ASSERT_TRUE(enqueue(*prepared, 1, {0, 512}));
  EXPECT_TRUE(*driver->done(streams[0]));
  EXPECT_THAT(read<int>(0, 0, 4), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(read<int>(0, 256, 2), ElementsAre(5, 6));
}

TEST_F(Collectives, GatherBringsEveryPart) {
  auto prepared = communicator->prepare(request(CollectiveRequest::gather, 0, {8, 0, 12}));
  ASSERT_TRUE(prepared) << prepared.error().message();
  for (int round = 0; round < 3; ++round) {
    write<int>(1, 0, {round, 8});
    write<int>(1, 256, {9, 10, 11});
    ASSERT_TRUE(enqueue(*prepared, 1, {0, 128, 256}));
    ASSERT_TRUE(enqueue(*prepared, 0, {0, 128, 256}));
    EXPECT_THAT(read<int>(0, 0, 2), ElementsAre(round, 8));
    EXPECT_THAT(read<int>(0, 256, 3), ElementsAre(9, 10, 11));
  }
}

TEST_F(Collectives, ReduceAddsInEachType) {
  auto wide = communicator->prepare(request(CollectiveRequest::reduce, 1, {8}));
  auto narrow = communicator->prepare(request(CollectiveRequest::reduce, 0, {4}, DType::bfloat16));
  ASSERT_TRUE(wide && narrow);
  write<float>(0, 0, {1.5F, -2});
  write<float>(1, 0, {0.25F, 8});
  const auto one = stand_in::to_bfloat16(1), two = stand_in::to_bfloat16(2);
  write<uint16_t>(0, 256, {one, two});
  write<uint16_t>(1, 256, {one, one});
  std::vector<std::thread> lanes;
  std::vector<Result<void>> first(2), second(2);
  for (size_t rank : {0, 1}) {
    lanes.emplace_back([&, rank] {
      first[rank] = enqueue(*wide, rank, {0});
      second[rank] = enqueue(*narrow, rank, {256});
    });
  }
  for (std::thread& lane : lanes) lane.join();
  ASSERT_TRUE(first[0] && first[1] && second[0] && second[1]);
  EXPECT_THAT(read<float>(1, 0, 2), ElementsAre(1.75F, 6));
  EXPECT_THAT(read<uint16_t>(0, 256, 2), ElementsAre(two, stand_in::to_bfloat16(3)));
}

TEST_F(Collectives, AnotherOrderIsFound) {
  auto one = communicator->prepare(request(CollectiveRequest::broadcast, 0, {8}));
  auto two = communicator->prepare(request(CollectiveRequest::broadcast, 0, {16}));
  ASSERT_TRUE(one && two);
  ASSERT_TRUE(enqueue(*one, 0, {0}));
  ASSERT_TRUE(enqueue(*two, 0, {256}));
  auto other = enqueue(*two, 1, {256});
  ASSERT_FALSE(other);
  const std::string words =
      "rank 1 has a broadcast of 16 of type 0, root 0 where rank 0 has a broadcast of 8 of type 0, root 0";
  EXPECT_THAT(other.error().message(), HasSubstr(words));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre(HasSubstr(words)));
  EXPECT_FALSE(*driver->done(streams[0]));
  communicator->abort();
  EXPECT_TRUE(*driver->done(streams[0])) << "the wait for a member that doesn't come ends";
  communicator->abort();
  EXPECT_THAT(enqueue(*one, 0, {0}).error().message(), HasSubstr("was aborted"));
  EXPECT_THAT(communicator->prepare(request(CollectiveRequest::broadcast, 0, {8})).error().message(), HasSubstr("was aborted"));
}

TEST_F(Collectives, MistakesAreFound) {
  auto prepared = communicator->prepare(request(CollectiveRequest::broadcast, 0, {8}));
  ASSERT_TRUE(prepared);
  std::swap(streams[0], streams[1]);
  EXPECT_FALSE(enqueue(*prepared, 0, {0}));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre("ncclBroadcast: a stream of another device than its rank's"));
  std::swap(streams[0], streams[1]);
  std::swap(memory[0], memory[1]);
  EXPECT_FALSE(enqueue(*prepared, 0, {0}));
  EXPECT_THAT(stand_in::take_faults(), ElementsAre("ncclBroadcast: a buffer that is not in the memory of its rank's device"));
  std::swap(memory[0], memory[1]);
  EXPECT_FALSE(enqueue(*prepared, 0, {kBytes - 4}));
  EXPECT_EQ(stand_in::take_faults().size(), 1U);
  // Without a first run of all members, a lane's thread would wait for the others'.
  const NcclFunctions& nccl = **NcclFunctions::open();
  ncclComm_t comms[2];
  const int devices[] = {1, 0};
  ASSERT_EQ(nccl.init_all(comms, 2, devices), ncclSuccess);
  EXPECT_EQ(nccl.send(memory[1], 4, ncclInt8, 1, comms[0], reinterpret_cast<cudaStream_t>(streams[1])), ncclInvalidUsage);
  EXPECT_EQ(nccl.group_end(), ncclInvalidUsage);
  for (ncclComm_t comm : comms) EXPECT_EQ(nccl.destroy(comm), ncclSuccess);
  EXPECT_EQ(nccl.abort(comms[0]), ncclInvalidArgument);
  EXPECT_THAT(stand_in::take_faults(), ElementsAre(HasSubstr("without the others"), "ncclGroupEnd: no group has begun",
                                                   "ncclCommAbort: a communicator that isn't there"));
}

TEST_F(Collectives, FailuresInTheBackgroundAreReported) {
  auto prepared = communicator->prepare(request(CollectiveRequest::broadcast, 0, {8}));
  ASSERT_TRUE(prepared);
  stand_in::set_async_error(ncclRemoteError);
  EXPECT_THAT(enqueue(*prepared, 0, {0}).error().message(), HasSubstr("network error"));
  auto another = communicator->prepare(request(CollectiveRequest::broadcast, 0, {8}));
  ASSERT_FALSE(another);
  EXPECT_THAT(another.error().message(), HasSubstr("network error"));
  EXPECT_THAT(enqueue(*prepared, 1, {0}).error().message(), HasSubstr("was aborted"));
}

}  // namespace
}  // namespace sheaf::cuda
