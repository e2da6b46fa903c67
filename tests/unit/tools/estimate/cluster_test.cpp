// Collectives and lanes of a cluster, against times worked out by hand.
#include "tools/estimate/lane_simulation.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sheaf {
namespace {

Cluster cluster(int nodes, int devices) {
  Cluster made;
  made.nodes = nodes;
  made.devices = devices;
  made.within = {.bytes_per_second = 100, .seconds = 0.5};
  made.between = {.bytes_per_second = 40, .seconds = 2};
  return made;
}

const Roofline kSums{.flops_per_second = 1e30, .bytes_per_second = 1000, .seconds_per_operation = 0};

Transfer transfer(double seconds, int after, int before, double occupies = 0) {
  Transfer made;
  made.cost.parts = {{seconds, occupies}};
  made.after = after;
  made.before = before;
  return made;
}

TEST(ClusterCollectives, OwnersGetASendFromEach) {
  const Cluster four = cluster(1, 4);
  const Collectives ordered(four, true, kSums);
  // 3 shares of 100 bytes at 100 bytes a second; then the sum of 4 shares, read and written.
  const CollectiveCost scattered = ordered.reduce_scatter(400);
  EXPECT_DOUBLE_EQ(scattered.seconds(), 0.5 + 3 + 500.0 / 1000);
  EXPECT_EQ(scattered.sent_bytes, 300);
  EXPECT_DOUBLE_EQ(ordered.all_reduce(400).seconds(), scattered.seconds() + 0.5 + 3);
  // Two nodes of two: each device's link carries one share, each node's 2 × 2 of them.
  const Cluster nodes = cluster(2, 2);
  EXPECT_DOUBLE_EQ(Collectives(nodes, true, kSums).all_gather(400).seconds(), 2 + 400.0 / 40);
}

TEST(ClusterCollectives, RingsEnterANodeOnce) {
  const Cluster nodes = cluster(2, 2);
  const Collectives rings(nodes, false, kSums);
  EXPECT_DOUBLE_EQ(rings.all_gather(400).seconds(), 1 * 0.5 + 2 * 2 + 300.0 / 40);
  // A tree of two nodes has a step up and one down, but carries all bytes both ways.
  EXPECT_DOUBLE_EQ(rings.all_reduce(4).seconds(), 2 * (2 + 0.5) + 8.0 / 40);
  EXPECT_DOUBLE_EQ(rings.all_reduce(4e6).seconds(), 2 * rings.all_gather(4e6).seconds());
}

TEST(ClusterCollectives, OneDeviceSendsNothing) {
  const Cluster one = cluster(1, 1);
  const Collectives alone(one, true, kSums);
  for (const CollectiveCost& cost : {alone.all_reduce(8), alone.reduce_scatter(8), alone.all_gather(8), alone.broadcast(8)}) {
    EXPECT_EQ(cost.seconds(), 0);
    EXPECT_EQ(cost.sent_bytes, 0);
  }
}

TEST(ClusterLinks, EfficiencyLiesBetweenItsPoints) {
  Link link{.bytes_per_second = 100, .efficiency = {{10, 0.2}, {1000, 0.8}}};
  EXPECT_DOUBLE_EQ(link.rate(1), 20);
  EXPECT_DOUBLE_EQ(link.rate(10), 20);
  EXPECT_NEAR(link.rate(100), 50, 1e-9);
  EXPECT_DOUBLE_EQ(link.rate(1e6), 80);
}

TEST(LaneSimulation, TransfersHideBehindWhatIsLeftToCompute) {
  // The first is sent while the second and third are computed, and arrives in time.
  EXPECT_DOUBLE_EQ(simulate({1, 1, 1, 1}, {transfer(2, 0, 3)}).seconds, 4);
  EXPECT_DOUBLE_EQ(simulate({1, 1, 1, 1}, {transfer(3, 0, 3)}).seconds, 5);
  // One after another, in their order.
  const Simulated two = simulate({1, 1, 1, 1}, {transfer(2, 0, 3), transfer(2, 1, 3)});
  EXPECT_DOUBLE_EQ(two.seconds, 6);
  EXPECT_EQ(two.begun, (std::vector<int>{1, 3}));
  EXPECT_EQ(two.completed, (std::vector<int>{3, 3}));
  // Work that nobody waits for still belongs to the step.
  EXPECT_DOUBLE_EQ(simulate({1, 1}, {transfer(5, 1, 2)}).seconds, 7);
  // Before anything else.
  EXPECT_DOUBLE_EQ(simulate({1, 1}, {transfer(5, -1, 0)}).seconds, 7);
}

TEST(LaneSimulation, TransfersThatOccupyTheDeviceHideNothing) {
  EXPECT_DOUBLE_EQ(simulate({1, 3, 1}, {transfer(2, 0, 2, 1)}).seconds, 7);
  EXPECT_DOUBLE_EQ(simulate({1, 3, 1}, {transfer(2, 0, 2, 0.5)}).seconds, 6);
}

}  // namespace
}  // namespace sheaf
