// A cluster as data: absent machines, their devices, and the links between them.
#pragma once

#include "runtime/base/error.h"

#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// A link that data takes. All figures are for one direction; both are used at once.
struct Link {
  double bytes_per_second = 0;
  double seconds = 0;   ///< a message's travel time, however short it is
  double occupies = 0;  ///< the share of a device's time that a transfer takes from its computation: 1 if its cores copy
  /// By the size of a message, ascending: the share of bytes_per_second that it reaches. Empty: all of it.
  std::vector<std::pair<double, double>> efficiency = {};

  /// Bytes per second with messages of `bytes`; interpolated along the size's logarithm.
  double rate(double bytes) const;
};

/// Equal nodes with equal devices.
struct Cluster {
  std::string file, name;
  int nodes = 1;
  int devices = 1;     ///< of a node
  std::string device;  ///< a data sheet's name (--device-model), or "cpu"
  int threads = 1;     ///< of a CPU device
  Link within;         ///< of each device to the others of its node
  Link between;        ///< of each node, all its adapters together

  int size() const { return nodes * devices; }
};

inline constexpr int kMostClusterDevices = 1 << 20;

/// Reads a description (docs/estimate.md). Errors, located in the file: it cannot be read, another version, an unknown device
/// or field, a figure out of its range, no link with more than one device, or more devices than kMostClusterDevices.
Result<Cluster> read_cluster(const std::string& file);

}  // namespace sheaf
