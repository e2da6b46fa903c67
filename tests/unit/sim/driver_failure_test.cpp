// Failures that a test injects into virtual GPUs: calls that fail, work that never ends, a device that is lost.
#include "driver_fixture.h"

namespace sheaf::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SimFailures = SimDriverTest;

TEST_F(SimFailures, InjectedFailures) {
  driver->fail(Call::allocate, 2, "out of memory");
  auto first = driver->allocate(0, 8);
  ASSERT_TRUE(first);
  EXPECT_FALSE(driver->allocate(0, 8));
  driver->release(0, *first);
  driver->fail(Call::launch, 1, "launch failed", 1);
  up(streams[0][0], 0, x[0]);
  add_one(0, streams[0][0], x[0], y[0]);
  EXPECT_EQ(last_error, "");
  add_one(1, streams[1][0], x[0], y[0]);
  EXPECT_EQ(last_error, "cuLaunchKernel: launch failed");
}

TEST_F(SimFailures, AKernelThatNeverEnds) {
  up(streams[0][0], 0, x[0]);
  driver->hang(2);
  add_one(0, streams[0][0], x[0], y[0]);
  EXPECT_TRUE(synchronize(streams[0][0]));
  add_one(0, streams[0][0], x[0], y[0]);
  EXPECT_FALSE(synchronize(streams[0][0]));
  EXPECT_EQ(last_error, "");
}

TEST_F(SimFailures, ADeviceThatIsLost) {
  up(streams[0][0], 0, x[0]);
  driver->lose(0, 2);
  EXPECT_TRUE(driver->record(events[0], streams[0][0]));
  auto done = driver->done(events[0]);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(), HasSubstr("device lost"));
  EXPECT_TRUE(driver->wait(streams[1][0], events[0])) << "the other one goes on";
  EXPECT_TRUE(synchronize(streams[1][0]));
  EXPECT_THAT(finish(), IsEmpty()) << "what was lost with it need not be given back";
}

}  // namespace
}  // namespace sheaf::sim
