// How fast devices of a kind are, as data.
#pragma once

#include "runtime/plan/op.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// Pairs of a number of channels and the arithmetic rate with it, in order of the channels.
using ChannelRates = std::vector<std::pair<int64_t, double>>;
/// By the names of an operation's candidates.
using CandidateRates = std::map<std::string, ChannelRates, std::less<>>;

/// Devices of one kind. Figures are in SI units: operations, bytes and seconds.
struct DeviceDescription {
  bool known = false;                ///< the figures were given, or are this machine's; otherwise typical ones
  std::string model;                 ///< "AMD EPYC …"
  int cores = 1;                     ///< shared by all devices that run on the host's cores; 1 for others
  double flops_per_second = 0;       ///< f32 matrix products, all cores
  double bytes_per_second = 0;       ///< memory traffic, all cores
  double core_bytes_per_second = 0;  ///< what a single core can move
  double cache_bytes = 0;            ///< data that fits here moves at cache_bytes_per_second, all cores
  double cache_bytes_per_second = 0;
  double seconds_per_operation = 0;  ///< overhead of an operation; on an asynchronous device, of each launch
  double seconds_per_wait = 0;       ///< for one lane to see that another is done
  double copy_bytes_per_second = 0;  ///< from one device to another
  double host_bytes_per_second = 0;  ///< from and to the host's memory, if that is separate; 0: as the above
  double memory_bytes = 0;           ///< of one device
  /// Arithmetic rates of operations that don't reach the matrix products' rate, all cores.
  std::map<Op, double> operations;
  /// The same two for bf16 or f16 operands. 0: not known, then f32's; an operation that isn't listed gets its f32 rate
  /// times the ratio that matrix products have.
  double bf16_flops_per_second = 0;
  std::map<Op, double> bf16_operations;
  /// Rates of convolutions by number of channels (channels_of()), in place of those in the two maps above; all other numbers lie
  /// between.
  std::map<Op, ChannelRates> by_channels, bf16_by_channels;
  /// The same for implementations that only fast numerics allow, by their names (Selection::name()), in place of by_channels.
  std::map<Op, CandidateRates> fast_by_channels, bf16_fast_by_channels;
  /// For a GPU: how many threads it runs at once, and how long a load takes. A generated kernel moves no more bytes in that
  /// time than its threads have requested. 0: not known, then it moves bytes_per_second.
  double threads = 0, seconds_of_latency = 0;
};

}  // namespace sheaf
