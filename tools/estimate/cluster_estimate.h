// A training step on absent machines, with every strategy: `sheaf estimate --cluster`.
#pragma once

#include "tools/estimate/cluster_strategies.h"
#include "tools/estimate/estimate.h"

namespace sheaf {

struct ClusterEstimate {
  std::string model;
  Cluster cluster;
  std::string device_name;      ///< "NVIDIA H100 80GB HBM3"
  std::string compiled;         ///< the plan's own strategy
  bool ordered = true;          ///< sums in the order of shards (--deterministic)
  int64_t batch = 0, rows = 0;  ///< of all devices, and of the first
  int devices_used = 0;         ///< fewer than the cluster has if the batch is too small
  int shards = 0;               ///< logical shards; 0: one for each device
  double memory_bytes = 0;      ///< of a device; 0: not known
  double compute_seconds = 0;   ///< a device's step without communication
  std::string description;      ///< where the devices' figures come from
  std::vector<StrategyEstimate> strategies;
};

/// The training step of `plan`, with `batch` rows on all devices together. Touches no device: one of them is planned for, since
/// all do the same. `options`: its device_model and other_threads are the cluster's. Errors: the plan doesn't train, or trains
/// nothing in a region; a list of devices longer than the shards; as estimate().
Result<ClusterEstimate> estimate_cluster(const Plan& plan, const Cluster& cluster, int64_t batch, EstimateOptions options);

/// Each ends in a newline.
std::string cluster_text(const ClusterEstimate& estimate);
std::string cluster_json(const ClusterEstimate& estimate);

}  // namespace sheaf
