// Sums of a trace: time by operation, achieved rates, and waiting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

/// One operation of a lane, or several that have something in common. Times are for one step: the median over
/// steps of each operation.
struct OperationProfile {
  std::string lane;   ///< "cpu:1"
  std::string op;     ///< the kind: "conv", "kernel", "reorder", …
  std::string layer;  ///< empty for operations without a layer, such as an update of a parameter
  std::string implementation;
  int replica = -1;  ///< -1 outside regions
  int64_t operations = 1;
  double seconds = 0;
  double flops = 0;
  double bytes = 0;          ///< read and written
  double least_seconds = 0;  ///< the roofline's limit: the longer of its arithmetic and its traffic
};

struct LaneProfile {
  std::string name;
  double seconds = 0;           ///< in operations
  double wait_seconds = 0;      ///< for other lanes
  double flops_per_second = 0;  ///< its roofline
  double bytes_per_second = 0;
};

/// Of one program at one batch size.
struct Profile {
  std::string program;  ///< "infer", "train"
  int64_t batch = 0;
  int64_t steps = 0;                         ///< how many it is made from
  double step_seconds = 0;                   ///< median of whole steps
  double data_wait_seconds = 0;              ///< mean wait of the training loop for its batch, per step
  std::vector<OperationProfile> operations;  ///< by lane, in order
  std::vector<LaneProfile> lanes;            ///< those with operations
  std::string roofline_source;               ///< "a guess from the CPU's model", or a file
};

/// The sums by layer, or by kind of operation, the longest first; `layer` and `op` are set if they are common to all.
std::vector<OperationProfile> by_layer(const Profile& profile);
std::vector<OperationProfile> by_kind(const Profile& profile);

}  // namespace sheaf
