#include "tools/estimate/collectives.h"

#include "runtime/bind/buckets.h"

#include <algorithm>
#include <cmath>

namespace sheaf {

double CollectiveCost::seconds() const {
  double all = 0;
  for (const TransferPart& part : parts) all += part.seconds;
  return all;
}

CollectiveCost& CollectiveCost::operator+=(const CollectiveCost& other) {
  parts.insert(parts.end(), other.parts.begin(), other.parts.end());
  sent_bytes += other.sent_bytes;
  return *this;
}

std::span<const size_t> Collectives::buckets() const {
  if (ordered_ && cluster_.device == "cpu") return kMessageBucketLimits;
  return kBucketLimits;
}

CollectiveCost Collectives::moved(double within, double message_within, double between, double message_between,
                                  double latency) const {
  const double inside = within > 0 ? within / cluster_.within.rate(message_within) : 0;
  const double outside = between > 0 ? between / cluster_.between.rate(message_between) : 0;
  const Link& slower = inside >= outside ? cluster_.within : cluster_.between;
  CollectiveCost cost;
  cost.parts = {{latency, 0}, {std::max(inside, outside), slower.occupies}};
  return cost;
}

CollectiveCost Collectives::to_each_other(double bytes) const {
  const double devices = cluster_.size(), inside = cluster_.devices - 1, outside = devices - cluster_.devices;
  const double share = bytes / devices;
  CollectiveCost cost = moved(inside * share, share, cluster_.devices * outside * share, share,
                              cluster_.nodes > 1 ? cluster_.between.seconds : cluster_.within.seconds);
  cost.sent_bytes = (devices - 1) * share;
  return cost;
}

CollectiveCost Collectives::along_rings(double bytes) const {
  const double devices = cluster_.size(), all_but_one = bytes * (devices - 1) / devices;
  const double hops = cluster_.nodes > 1 ? cluster_.nodes : 0;
  const double latency = (devices - 1 - hops) * cluster_.within.seconds + hops * cluster_.between.seconds;
  const double message = bytes / devices;
  CollectiveCost cost = moved(cluster_.devices > 1 ? all_but_one : 0, message, cluster_.nodes > 1 ? all_but_one : 0,
                              bytes / cluster_.nodes, latency);
  cost.sent_bytes = all_but_one;
  return cost;
}

CollectiveCost Collectives::sum_of_all(double bytes) const {
  const Cost sum{bytes / sizeof(float) * (cluster_.size() - 1), bytes * cluster_.size(), bytes};
  CollectiveCost cost;
  cost.parts = {{sheaf::seconds(sums_, sum), 1}};
  return cost;
}

CollectiveCost Collectives::reduce_scatter(double bytes) const {
  if (cluster_.size() == 1) return {};
  if (!ordered_) return along_rings(bytes);
  CollectiveCost cost = to_each_other(bytes);
  return cost += sum_of_all(bytes / cluster_.size());
}

CollectiveCost Collectives::all_gather(double bytes) const {
  if (cluster_.size() == 1) return {};
  return ordered_ ? to_each_other(bytes) : along_rings(bytes);
}

CollectiveCost Collectives::all_reduce(double bytes) const {
  if (cluster_.size() == 1) return {};
  CollectiveCost cost = reduce_scatter(bytes);
  cost += all_gather(bytes);
  if (ordered_ || cluster_.nodes == 1) return cost;
  // Up a tree of nodes and down again; within a node a chain.
  const double steps = std::ceil(std::log2(cluster_.nodes));
  const double latency = 2 * (steps * cluster_.between.seconds + (cluster_.devices - 1) * cluster_.within.seconds);
  CollectiveCost tree =
      moved(cluster_.devices > 1 ? 2 * bytes : 0, bytes / cluster_.devices, 2 * bytes, bytes / cluster_.devices, latency);
  tree.sent_bytes = 2 * bytes;
  return tree.seconds() < cost.seconds() ? tree : cost;
}

CollectiveCost Collectives::of_first(double bytes) const {
  if (cluster_.size() == 1) return {};
  const double inside = cluster_.devices - 1, outside = cluster_.size() - cluster_.devices;
  CollectiveCost cost = moved(inside * bytes, bytes, outside * bytes, bytes,
                              cluster_.nodes > 1 ? cluster_.between.seconds : cluster_.within.seconds);
  cost.sent_bytes = (inside + outside) * bytes;
  return cost;
}

}  // namespace sheaf
