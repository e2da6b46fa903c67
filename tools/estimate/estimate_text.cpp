#include "tools/estimate/planned_program.h"
#include "runtime/base/joined.h"
#include "runtime/plan/names.h"
#include "tools/estimate/print_estimate.h"
#include "tools/estimate/table.h"
#include "tools/inspect/format.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace sheaf {
namespace {

constexpr size_t kShownLayers = 12, kShownMovements = 20;

std::string layer_text(const std::string& layer) { return layer.empty() ? "(the step itself)" : printable(layer); }

std::string operation_text(const OperationInfo& operation) {
  std::string text = layer_text(operation.layer) + " (" + to_string(operation.op);
  if (operation.step >= 0) text += ", step " + std::to_string(operation.step);
  if (operation.replica >= 0) text += ", replica " + std::to_string(operation.replica);
  return text + ")";
}

std::string memory_table(const Estimate& estimate) {
  Table table;
  std::vector<std::string> heading = {"memory at the peak"};
  for (const DeviceEstimate& device : estimate.devices) heading.push_back(device.device);
  table.row(heading);
  for (size_t kind = 0; kind < kPurposes; ++kind) {
    std::vector<std::string> cells = {std::string(name_of(static_cast<Value::Purpose>(kind)))};
    for (const DeviceEstimate& device : estimate.devices)
      cells.push_back(size_text(device.lasting[kind] + device.at_peak[kind]));
    table.row(cells);
  }
  std::vector<std::string> gaps = {"gaps"}, total = {"peak"}, arena = {"of it the arena"};
  for (const DeviceEstimate& device : estimate.devices) {
    gaps.push_back(size_text(device.arena_bytes - device.arena_bound));
    total.push_back(size_text(device.peak_bytes));
    arena.push_back(size_text(device.arena_bytes));
  }
  table.row(gaps);
  table.row(total);
  table.row(arena);
  return table.text("");
}

/// Differences from a run.
std::string assumptions(const Estimate& estimate) {
  std::string text = estimate.planned.empty() ? "" : "\nnot here:\n";
  for (size_t i = 0; i < estimate.planned.size();) {  // one line for those with the same reason
    std::string devices = estimate.planned[i].device;
    size_t end = i + 1;
    for (; end < estimate.planned.size() && estimate.planned[end].why == estimate.planned[i].why; ++end)
      devices += ", " + estimate.planned[end].device;
    text += "  " + printable(devices) + ": " + printable(estimate.planned[i].why) + "\n";
    i = end;
  }
  if (!estimate.transport.empty()) text += "\ndata between ranks' devices go " + printable(estimate.transport) + "\n";
  if (!estimate.uncertain.empty()) text += "\nmemory that isn't known without the device:\n";
  for (const UncertainMemory& part : estimate.uncertain) {
    text += "  " + to_string(part.op) + " (" + std::to_string(part.operations) +
            (part.operations == 1 ? " operation on " : " operations on ") + printable(joined(part.devices)) +
            "): " + printable(part.why) + "\n";
  }
  return text;
}

std::string peaks(const Estimate& estimate) {
  std::string text;
  for (const DeviceEstimate& device : estimate.devices) {
    if (device.largest.empty()) continue;
    text += "\nlargest on " + device.device;
    if (device.peak_operation >= 0)
      text += " at its peak, in " + operation_text(estimate.operations[static_cast<size_t>(device.peak_operation)]);
    text += "\n";
    Table table;
    for (const LiveTensor& tensor : device.largest) {
      table.row({printable(tensor.name), std::string(name_of(tensor.kind)), tensor.shape, size_text(tensor.bytes)});
    }
    text += table.text("  ", 3);
  }
  return text;
}

std::string work(const Estimate& estimate) {
  std::string text =
      "\nwork: " + flops_text(estimate.cost.flops) + ", " + size_text(estimate.cost.bytes()) + " read and written\n";
  std::vector<size_t> order(estimate.layers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto weight = [&](const LayerEstimate& layer) {
      return estimate.no_times.empty() ? layer.seconds : layer.cost.flops + layer.cost.bytes();
    };
    const double first = weight(estimate.layers[a]), second = weight(estimate.layers[b]);
    return first != second ? first > second : a < b;
  });
  Table table;
  const bool timed = estimate.no_times.empty();
  std::vector<std::string> heading = {"layer (all replicas)", "work", "memory traffic"};
  if (timed) heading.insert(heading.end(), {"time", "bound by"});
  table.row(heading);
  for (size_t i = 0; i < std::min(order.size(), kShownLayers); ++i) {
    const LayerEstimate& layer = estimate.layers[order[i]];
    std::vector<std::string> cells = {layer_text(layer.layer), flops_text(layer.cost.flops), size_text(layer.cost.bytes())};
    if (timed) cells.insert(cells.end(), {time_text(layer.seconds), name_of(layer.bound)});
    table.row(cells);
  }
  text += table.text("  ");
  if (order.size() > kShownLayers)
    text += "  … and " + std::to_string(order.size() - kShownLayers) + " layers more (--json has them all)\n";
  return text;
}

/// By kind of operation, the longest first; for lists with devices whose launches take time.
std::string kinds(const Estimate& estimate) {
  const bool launched =
      std::any_of(estimate.kinds.begin(), estimate.kinds.end(), [](const auto& kind) { return kind.launches; });
  if (!launched) return "";
  std::vector<KindEstimate> order = estimate.kinds;
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.seconds != b.seconds ? a.seconds > b.seconds : a.op < b.op; });
  const bool timed = estimate.no_times.empty();
  size_t launches = 0;
  Table table;
  table.row(
      {"kind of operation", "operations", "launches", "work", "memory traffic", timed ? "time" : "", timed ? "bound by" : ""});
  for (const KindEstimate& kind : order) {
    launches += kind.launches;
    table.row({to_string(kind.op), std::to_string(kind.operations), std::to_string(kind.launches), flops_text(kind.cost.flops),
               size_text(kind.cost.bytes()), timed ? time_text(kind.seconds) : "", timed ? name_of(kind.bound) : ""});
  }
  return "\nlaunches of GPUs: " + std::to_string(launches) + "\n" + table.text("  ");
}

std::string movements(const Estimate& estimate) {
  std::string text = "\nmoved between devices: " + size_text(static_cast<double>(estimate.bytes_moved)) + "\n";
  Table table;
  size_t shown = 0, idle = 0, more = 0;
  for (const MovementEstimate& movement : estimate.movements) {
    if (movement.bytes_moved == 0) {
      ++idle;
    } else if (shown == kShownMovements) {
      ++more;
    } else {
      ++shown;
      table.row({movement.op, layer_text(movement.layer),
                 movement.chunks.empty() ? "" : "chunks " + chunks_text(movement.chunks),
                 size_text(static_cast<double>(movement.bytes_moved))});
    }
  }
  text += table.text("  ", 3);
  if (more > 0) text += "  … and " + std::to_string(more) + " more (--json has them all)\n";
  if (idle > 0) text += "  " + std::to_string(idle) + " others move nothing: both sides are one device\n";
  return text;
}

std::string times(const Estimate& estimate) {
  if (!estimate.no_times.empty()) return "\ntime: not estimated; " + printable(estimate.no_times) + "\n";
  std::string text = "\ntime: a step takes " + time_text(estimate.step_seconds) + " or more";
  if (estimate.step_seconds > 0) {
    char rows[64];
    std::snprintf(rows, sizeof rows, ", %.0f rows a second or fewer",
                  static_cast<double>(estimate.batch) / estimate.step_seconds);
    text += rows;
  }
  text += " (by " + printable(estimate.description) + ")\n";
  Table table;
  table.row({"", "operations", "arithmetic", "memory", "communication", "overhead", "busy"});
  for (const DeviceEstimate& device : estimate.devices) {
    table.row({device.device, std::to_string(device.operations), time_text(device.compute_seconds),
               time_text(device.memory_seconds), time_text(device.communication_seconds), time_text(device.overhead_seconds),
               time_text(device.busy_seconds)});
  }
  return text + table.text("  ");
}

std::string largest_text(const LargestBatch& largest) {
  std::string text = "\nlargest batch in " + size_text(largest.memory_bytes) + " a device: ";
  if (largest.batch == 0) return text + "none; not even one row fits\n";
  text += (largest.at_least ? "at least " : "") + std::to_string(largest.batch) + ", which needs " +
          size_text(largest.peak_bytes) + "\n";
  if (!largest.limit.empty()) text += "  one row more has no plan: " + printable(largest.limit) + "\n";
  if (!largest.monotonic)
    text += "  of the batches tried a larger one needed less memory than a smaller one; others may fit too\n";
  return text;
}

}  // namespace

std::string estimate_text(const Estimate& estimate, const LargestBatch* largest) {
  std::string text = printable(estimate.model) + ", program " + estimate.program + ", " +
                     batch_text(estimate.batch, estimate.shards) + " on " + joined(estimate.list, ",") + "\n\n";
  text += memory_table(estimate);
  text += "of the caller's, besides: inputs " + size_text(estimate.input_bytes) + ", outputs " +
          size_text(estimate.output_bytes) + "\n";
  text += assumptions(estimate) + peaks(estimate) + work(estimate) + kinds(estimate) + movements(estimate) + times(estimate);
  return largest ? text + largest_text(*largest) : text;
}

}  // namespace sheaf
