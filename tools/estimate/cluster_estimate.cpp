#include "tools/estimate/cluster_estimate.h"

#include "runtime/bind/chunk.h"
#include "runtime/device/device_set.h"
#include "runtime/plan/op_list.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/measures.h"

namespace sheaf {
namespace {

/// How fast a device adds up what others have sent.
Roofline roofline_of_sums(const DeviceDescription& device, const DeviceSet& devices, LaneId lane, int other_threads) {
  const int threads = devices.threads(lane);
  const bool on_cores = devices.device(lane).info().uses_host_cores;
  return lane_roofline(device, threads, on_cores ? threads + other_threads : threads, Op::reduce, DType::float32,
                       device.cache_bytes + 1);
}

StepMemory memory_of(const DeviceEstimate& device) {
  StepMemory memory;
  memory.lasting = static_cast<double>(sum(device.lasting));
  memory.parameters = static_cast<double>(device.lasting[static_cast<size_t>(Value::Purpose::parameters)]);
  memory.optimizer = static_cast<double>(device.lasting[static_cast<size_t>(Value::Purpose::optimizer)]);
  memory.arena_gaps = static_cast<double>(device.arena_bytes - device.arena_bound);
  return memory;
}

}  // namespace

Result<ClusterEstimate> estimate_cluster(const Plan& plan, const Cluster& cluster, int64_t batch, EstimateOptions options) {
  const Program& program = plan.train;
  if (program.steps.empty()) return Error({plan.file}, "the plan has no training step: its model has no `training` section");
  ClusterEstimate result;
  result.model = plan.name;
  result.cluster = cluster;
  result.compiled = to_string(strategy_of(plan));
  result.ordered = options.bind.deterministic;
  result.batch = batch;
  result.shards = options.bind.shards;
  int shards = 0;  // of one device
  if (result.shards > 0) {
    if (result.shards < cluster.size())
      return Error({cluster.file}, std::to_string(cluster.size()) + " devices, but --shards " + std::to_string(result.shards) +
                                       " leaves some without a shard");
    shards = (result.shards + cluster.size() - 1) / cluster.size();
    result.rows = shards * chunk_sizes(batch, result.shards).front();
    result.devices_used = cluster.size();
  } else {
    const std::vector<int64_t> chunks = chunk_sizes(batch, cluster.size());
    result.rows = chunks.front();
    result.devices_used = static_cast<int>(chunks.size());
  }

  const bool gpu = cluster.device != "cpu";
  const DeviceSpec one{gpu ? "cuda" : "cpu", 0};
  options.device_model = gpu ? cluster.device : "";
  options.other_threads = gpu ? 0 : cluster.threads * (cluster.devices - 1);
  options.bind.shards = shards;
  SHEAF_ASSIGN(const auto devices,
               plan_devices({one}, gpu ? 0 : cluster.threads * std::max(shards, 1), shards, options.device_model));
  SHEAF_ASSIGN(const auto planned, plan_program(plan, program, devices, result.rows, options.bind));
  if (!options.description) options.description = guessed_devices(options.device_model);
  SHEAF_ASSIGN(const auto alone, estimate_planned(plan, program, planned, {to_string(one)}, devices, result.rows, options));
  SHEAF_ASSIGN(const auto step, training_step(plan, program, planned, devices, alone));

  const LaneId lane = devices.lane_of_entry(0);
  const DeviceInfo& info = devices.device(lane).info();
  result.device_name = info.model;
  result.description = alone.description;
  result.compute_seconds = step.compute_seconds();
  const DeviceDescription& device = options.description->of(info);
  result.memory_bytes = device.memory_bytes;
  const Collectives collectives(cluster, result.ordered, roofline_of_sums(device, devices, lane, options.other_threads));
  for (const std::string_view name : strategy_names())
    result.strategies.push_back(
        price_strategy(*strategy_from_name(name), step, memory_of(alone.devices[lane.index()]), cluster.size(), collectives));
  return result;
}

}  // namespace sheaf
