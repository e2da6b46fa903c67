#include "runtime/plan/names.h"
#include "tools/estimate/cluster_estimate.h"
#include "tools/estimate/table.h"
#include "tools/inspect/format.h"

#include <cstdio>

namespace sheaf {
namespace {

/// The assumptions behind the figures (docs/estimate.md).
constexpr const char* kAssumed[] = {
    "all devices do the same work at the same speed, and the links have no other traffic",
    "layers outside of parallel regions, and the loss, are computed by each device for its own rows",
    ("gradients go in buckets of 1 MiB, then 25 MiB, as soon as each is complete; gathered parameters in such buckets, one "
     "ahead")};

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%", 100 * share);
  return text;
}

std::string rows_per_second(const ClusterEstimate& estimate, const StrategyEstimate& strategy) {
  char text[48];
  std::snprintf(text, sizeof text, "%.0f", static_cast<double>(estimate.batch) / strategy.step_seconds);
  return text;
}

Json json_of(const ClusterEstimate& estimate, const StrategyEstimate& strategy) {
  Json json = {{"strategy", to_string(strategy.strategy)},
               {"memory",
                {{"peak_bytes", strategy.peak_bytes},
                 {"parameter_bytes", strategy.parameter_bytes},
                 {"optimizer_bytes", strategy.optimizer_bytes}}},
               {"collectives", strategy.collectives},
               {"sent_bytes", strategy.sent_bytes},
               {"communication_seconds", strategy.communication_seconds},
               {"exposed_seconds", strategy.exposed_seconds},
               {"step_seconds", strategy.step_seconds},
               {"samples_per_s", static_cast<double>(estimate.batch) / strategy.step_seconds},
               {"efficiency", strategy.efficiency}};
  if (estimate.memory_bytes > 0) json["memory"]["fits"] = strategy.peak_bytes <= estimate.memory_bytes;
  return json;
}

}  // namespace

std::string cluster_text(const ClusterEstimate& estimate) {
  const Cluster& cluster = estimate.cluster;
  std::string text = printable(estimate.model) + ", program train, batch " + std::to_string(estimate.batch);
  if (estimate.shards > 0) text += " in " + std::to_string(estimate.shards) + " shards";
  text += " on " + (cluster.name.empty() ? "" : printable(cluster.name) + ": ") + std::to_string(cluster.nodes) +
          (cluster.nodes == 1 ? " node" : " nodes") + " of " + std::to_string(cluster.devices) + " × " +
          printable(estimate.device_name) + "\n";
  text += std::to_string(estimate.devices_used) + " devices with " + std::to_string(estimate.rows) +
          " rows each; without communication a step takes " + time_text(estimate.compute_seconds) + "\n";
  if (estimate.devices_used < cluster.size())
    text += std::to_string(cluster.size() - estimate.devices_used) + " devices are without rows: the batch is too small\n";
  text += "\n";
  Table table;
  table.row({"strategy", "memory a device", "sent", "communication", "exposed", "step", "rows a second", "efficiency"});
  bool some_too_large = false;
  for (const StrategyEstimate& strategy : estimate.strategies) {
    const bool too_large = estimate.memory_bytes > 0 && strategy.peak_bytes > estimate.memory_bytes;
    some_too_large = some_too_large || too_large;
    table.row({to_string(strategy.strategy), size_text(strategy.peak_bytes) + (too_large ? " (!)" : ""),
               size_text(strategy.sent_bytes), time_text(strategy.communication_seconds), time_text(strategy.exposed_seconds),
               time_text(strategy.step_seconds), rows_per_second(estimate, strategy), percent(strategy.efficiency)});
  }
  text += table.text("");
  if (some_too_large) text += "(!) more than the " + size_text(estimate.memory_bytes) + " that a device has\n";
  text += "\nthe plan is compiled for " + estimate.compiled + "; devices by " + printable(estimate.description) + "; sums " +
          (estimate.ordered ? "in the order of shards, by owners" : "in the order of rings and trees") + "\nassumed:\n";
  for (const char* assumption : kAssumed) text += std::string("  ") + assumption + "\n";
  return text;
}

std::string cluster_json(const ClusterEstimate& estimate) {
  const Cluster& cluster = estimate.cluster;
  Json json = {
      {"model", estimate.model},
      {"program", "train"},
      {"batch", estimate.batch},
      {"cluster",
       {{"name", cluster.name}, {"nodes", cluster.nodes}, {"devices", cluster.devices}, {"device", estimate.device_name}}},
      {"compiled", estimate.compiled},
      {"deterministic", estimate.ordered},
      {"rows_per_device", estimate.rows},
      {"devices_used", estimate.devices_used},
      {"compute_seconds", estimate.compute_seconds},
      {"description", estimate.description},
      {"strategies", Json::array()},
      {"assumed", Json::array()}};
  if (estimate.shards > 0) json["shards"] = estimate.shards;
  if (estimate.memory_bytes > 0) json["memory_bytes"] = estimate.memory_bytes;
  for (const StrategyEstimate& strategy : estimate.strategies) json["strategies"].push_back(json_of(estimate, strategy));
  for (const char* assumption : kAssumed) json["assumed"].push_back(assumption);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sheaf
