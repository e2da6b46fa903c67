// Virtual GPUs find memory that nobody wrote, that is another device's, released or not given back.
#include "driver_fixture.h"

namespace sheaf::sim {
namespace {

using cuda::kHost;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SimMemory = SimDriverTest;

TEST_F(SimMemory, MemoryThatNobodyWrote) {
  add_one(0, streams[0][0], x[0], y[0]);
  EXPECT_THAT(finish(), Contains(HasSubstr("reads what nobody wrote: byte 0 of an operand of 64")));
}

TEST_F(SimMemory, WhatTheHostGetsThatNobodyWrote) {
  down(streams[0][0], 0, x[0]);
  EXPECT_THAT(finish(), Contains(HasSubstr("gives the host what nobody wrote")));
}

TEST_F(SimMemory, KernelsTouchWhatWasAnnounced) {
  up(streams[0][0], 0, x[0]);
  add_one(0, streams[0][0], x[0], y[0], "half", kBytes / 2);
  EXPECT_EQ(last_error, "");
  EXPECT_FALSE(synchronize(streams[0][0]));
  EXPECT_THAT(last_error, HasSubstr("illegal memory access")) << "and the device is gone after that";
  EXPECT_THAT(
      finish(),
      Contains(HasSubstr("half in stream 0 of cuda:0 writes 64 bytes that it was not announced to touch, 0 bytes into")));
}

TEST_F(SimMemory, PlacesOfCopies) {
  char pageable[kBytes] = {};
  EXPECT_FALSE(driver->copy(streams[0][0], x[0], 0, pageable, kHost, kAll));
  EXPECT_FALSE(driver->copy(streams[0][0], x[0], 0, x[1], 0, kAll));
  EXPECT_FALSE(driver->copy(streams[0][0], x[0], 0, host, kHost, {kBytes + 1, 1, 0, 0}));
  const auto all = finish();
  EXPECT_THAT(all, Contains(HasSubstr("pageable host memory")));
  EXPECT_THAT(all, Contains(HasSubstr("takes memory of cuda:1 for that of cuda:0")));
  EXPECT_THAT(all, Contains(HasSubstr("touches 65 bytes from byte 0 of an allocation of 64")));
}

TEST_F(SimMemory, PeersAreLetReach) {
  up(streams[1][0], 1, x[1]);
  ASSERT_TRUE(synchronize(streams[1][0]));
  ASSERT_TRUE(*driver->enable_peer(0, 1));
  add_one(0, streams[0][0], x[1], y[0]);
  ASSERT_TRUE(synchronize(streams[0][0]));
  EXPECT_THAT(found, IsEmpty());
  up(streams[0][0], 0, x[0]);
  ASSERT_TRUE(synchronize(streams[0][0]));
  add_one(1, streams[1][0], x[0], y[1]);
  EXPECT_THAT(finish(), Contains(HasSubstr("which cuda:1 was not let reach")));
}

TEST_F(SimMemory, ReleasedWhileInUse) {
  up(streams[0][0], 0, x[0]);
  driver->release(0, x[0]);
  EXPECT_THAT(found, Contains(HasSubstr("is released while nobody knows whether this is done: copy")));
  driver->release(0, x[0]);
  EXPECT_THAT(found, Contains(HasSubstr("isn't allocated (twice?)")));
  up(streams[0][0], 0, y[0]);
  EXPECT_FALSE(driver->fill(streams[0][0], x[0], 0, 4));
  EXPECT_THAT(found, Contains(HasSubstr("touches 4 bytes of device memory that isn't allocated")));
}

TEST_F(SimMemory, WhatIsNotGivenBack) {
  (void)*driver->allocate(1, 100);
  (void)*driver->make_event(0, false);
  (void)*driver->make_stream(0);
  (void)*driver->allocate_pinned(7);
  const auto all = finish();
  EXPECT_THAT(all, Contains("not released: 100 bytes of cuda:1"));
  EXPECT_THAT(all, Contains("not released: 7 bytes of the host"));
  EXPECT_THAT(all, Contains("1 events were not destroyed"));
  EXPECT_THAT(all, Contains("a stream of cuda:0 was not destroyed"));
}

TEST_F(SimMemory, MemoryIsBounded) {
  auto memory = driver->allocate(0, (1 << 20) - 100);
  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error().message(), HasSubstr("out of memory"));
  EXPECT_EQ(driver->memory(0)->free_bytes, (1 << 20) - 2 * int64_t{kBytes});
  EXPECT_THAT(finish(), IsEmpty());
}

}  // namespace
}  // namespace sheaf::sim
