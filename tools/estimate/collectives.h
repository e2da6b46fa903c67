// The time of an operation of all a cluster's devices, by the routes of its data.
#pragma once

#include "runtime/cost/roofline.h"
#include "tools/estimate/cluster.h"

#include <cstddef>
#include <span>
#include <vector>

namespace sheaf {

/// A part of a transfer. `occupies`: the share of the device's time that it takes from the device's computation.
struct TransferPart {
  double seconds = 0, occupies = 0;
};

/// One device's work for a collective, its parts one after another.
struct CollectiveCost {
  std::vector<TransferPart> parts;
  double sent_bytes = 0;  ///< by the device that sends most
  double seconds() const;
  CollectiveCost& operator+=(const CollectiveCost& other);
};

/// Two ways to add up. `ordered` (--deterministic): each device owns an equal run of the operand; all others send it theirs at
/// once, it adds them in the order of the shards, and sends the result to all, so bits don't depend on the cluster. Otherwise
/// as engines do (NCCL): rings through all devices, in which each byte enters and leaves a node once or, for sums that all get,
/// a tree of nodes if that has less latency.
class Collectives {
 public:
  /// `sums`: how fast a device adds.
  Collectives(const Cluster& cluster, bool ordered, const Roofline& sums) : cluster_(cluster), ordered_(ordered), sums_(sums) {}

  CollectiveCost all_reduce(double bytes) const;
  CollectiveCost reduce_scatter(double bytes) const;
  CollectiveCost all_gather(double bytes) const;
  /// From the first device to all others, and from all others to the first; one message to, or from, each.
  CollectiveCost broadcast(double bytes) const { return of_first(bytes); }
  CollectiveCost gather(double bytes) const { return of_first(bytes); }
  /// Tensors that are sent together (runtime/bind/buckets.h).
  std::span<const size_t> buckets() const;
  /// The sum of all devices' `bytes`, by one of them.
  CollectiveCost sum_of_all(double bytes) const;

 private:
  /// `within` bytes by each device over its own link and `between` by each node, in messages of these sizes, at the same time.
  CollectiveCost moved(double within, double message_within, double between, double message_between, double latency) const;
  /// Each device sends each other one an equal share.
  CollectiveCost to_each_other(double bytes) const;
  /// All shares of `bytes` but one past each device.
  CollectiveCost along_rings(double bytes) const;
  CollectiveCost of_first(double bytes) const;

  const Cluster& cluster_;
  bool ordered_;
  Roofline sums_;
};

}  // namespace sheaf
