// Virtual GPUs find work that is unordered with what it reads or overwrites, and report nothing if all is well.
#include "driver_fixture.h"

namespace sheaf::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SimOrder = SimDriverTest;

TEST_F(SimOrder, RightWorkIsDone) {
  up(streams[0][0], 0, x[0]);
  add_one(0, streams[0][0], x[0], y[0]);
  ASSERT_TRUE(driver->record(events[0], streams[0][0]));
  ASSERT_TRUE(driver->wait(streams[1][0], events[0]));
  ASSERT_TRUE(driver->copy(streams[1][0], x[1], 1, y[0], 0, kAll));
  add_one(1, streams[1][0], x[1], x[1]);
  down(streams[1][0], 1, x[1]);
  EXPECT_NE(back[3], 5) << "nobody asked whether it is there";
  ASSERT_TRUE(synchronize(streams[1][0]));
  EXPECT_EQ(back[3], 5);
  EXPECT_THAT(finish(), IsEmpty());
}

TEST_F(SimOrder, ReadsOfWhatIsNotKnownToBeThere) {
  up(streams[0][0], 0, x[0]);
  add_one(0, streams[0][1], x[0], y[0], "layer 'fc'");
  EXPECT_THAT(finish(),
              Contains(HasSubstr("layer 'fc' in stream 1 of cuda:0 reads what isn't known to be written yet by copy of 64")));
}

TEST_F(SimOrder, OverwritingWhatIsStillRead) {
  up(streams[0][0], 0, x[0]);
  ASSERT_TRUE(synchronize(streams[0][0]));
  add_one(0, streams[0][0], x[0], y[0], "reader");
  ASSERT_TRUE(driver->fill(streams[0][1], x[0], 0, kBytes));
  EXPECT_THAT(finish(),
              Contains(HasSubstr("fill of 64 bytes in stream 1 of cuda:0 overwrites what may still be read by reader")));
}

TEST_F(SimOrder, AnEventOrdersOnlyWhatCameBeforeIt) {
  ASSERT_TRUE(driver->record(events[0], streams[0][0]));
  up(streams[0][0], 0, x[0]);
  ASSERT_TRUE(driver->wait(streams[0][1], events[0]));
  add_one(0, streams[0][1], x[0], y[0]);
  EXPECT_THAT(finish(), Contains(HasSubstr("isn't known to be written")));
}

TEST_F(SimOrder, TheHostLeavesAloneWhatIsToBeRead) {
  ASSERT_TRUE(driver->wait(streams[0][0], events[0]));
  up(streams[0][0], 0, x[0]);
  add_one(0, streams[0][0], x[0], y[0]);
  host[5] = 77;
  for (unsigned seed = 0; seed < 10; ++seed) (void)synchronize(streams[0][0]);
  // (If the GPU was quick, there is nothing to find: seed 1 isn't.)
  EXPECT_THAT(finish(), Contains(HasSubstr("the host changed pinned memory before it was read")));
}

TEST_F(SimOrder, AMeetingTakesPlaceWhenAllAreThere) {
  auto meeting = std::make_shared<Meeting>();
  meeting->at_head = {false, false};
  int met = 0;
  meeting->run = [&] {
    ++met;
    return Result<void>();
  };
  ASSERT_TRUE(driver->meet(streams[0][0], "broadcast", meeting, 0, {}));
  EXPECT_FALSE(synchronize(streams[0][0]));
  EXPECT_EQ(met, 0);
  ASSERT_TRUE(driver->meet(streams[1][0], "broadcast", meeting, 1, {}));
  EXPECT_TRUE(synchronize(streams[0][0]));
  EXPECT_TRUE(synchronize(streams[1][0]));
  EXPECT_EQ(met, 1);
  EXPECT_THAT(finish(), IsEmpty());
}

}  // namespace
}  // namespace sheaf::sim
