// Graphs of virtual GPUs: replayed, checked, and what a capture forbids.
#include "driver_fixture.h"

#include <thread>

namespace sheaf::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using SimGraphs = SimDriverTest;

TEST_F(SimGraphs, GraphsAreReplayed) {
  up(streams[0][0], 0, x[0]);
  ASSERT_TRUE(driver->begin_capture(streams[0][0]));
  add_one(0, streams[0][0], x[0], x[0]);
  add_one(0, streams[0][0], x[0], y[0]);
  auto graph = driver->end_capture(streams[0][0]);
  ASSERT_TRUE(graph);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(driver->launch(streams[0][0], *graph));
  driver->destroy(*graph);
  down(streams[0][0], 0, y[0]);
  ASSERT_TRUE(synchronize(streams[0][0]));
  EXPECT_EQ(back[0], 4) << "what was noted down alone didn't run";
  EXPECT_THAT(finish(), IsEmpty());
}

TEST_F(SimGraphs, GraphsAreCheckedLikeAllWork) {
  up(streams[0][0], 0, x[0]);
  ASSERT_TRUE(driver->begin_capture(streams[0][1]));
  add_one(0, streams[0][1], x[0], y[0], "noted");
  auto graph = driver->end_capture(streams[0][1]);
  ASSERT_TRUE(graph);
  EXPECT_THAT(found, IsEmpty());
  ASSERT_TRUE(driver->launch(streams[0][1], *graph));
  driver->destroy(*graph);
  EXPECT_THAT(finish(), Contains(HasSubstr("noted in stream 1 of cuda:0 reads what isn't known")));
}

TEST_F(SimGraphs, CallsThatACaptureForbids) {
  ASSERT_TRUE(driver->begin_capture(streams[0][0]));
  std::thread([&] {
    auto memory = driver->allocate(0, 8);  // others go on
    ASSERT_TRUE(memory);
    driver->release(0, *memory);
  }).join();
  EXPECT_THAT(found, IsEmpty());
  EXPECT_FALSE(driver->allocate(0, 8));
  EXPECT_FALSE(driver->record(events[0], streams[0][0]));
  EXPECT_FALSE(driver->end_capture(streams[0][0])) << "it is spoilt";
  EXPECT_THAT(finish(), Contains(HasSubstr("cuMemAlloc while a stream is captured")));
}

}  // namespace
}  // namespace sheaf::sim
