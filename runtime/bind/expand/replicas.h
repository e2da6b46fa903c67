// Where each step of a program runs, on each of its replicas, and its sizes there.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/bind/chunk.h"

#include <string>
#include <vector>

namespace sheaf {

/// Where one replica of a step runs.
struct Spot {
  int replica = 0;  ///< 0 outside regions
  int entry = -1;   ///< of the device list; -1: the host
  LaneId lane = kHostLane;
  bool in_region = false;
};

class Replicas {
 public:
  /// Errors: an index beyond the device list, located at its region; inputs that split differently; shards of a plan without regions.
  static Result<Replicas> find(const BindContext& context);

  /// Where a place's replicas run. Errors: an index beyond the device list, at `location`.
  Result<std::vector<Spot>> spots(const Place& place, const std::string& layer, const Location& location) const;
  /// Where a value lives. In a region that keeps shares, values that are the same on each replica, or kept in shares, are on
  /// all of its devices, even those without rows: their shares need updates like any other.
  Result<std::vector<Spot>> spots(const Value& value, const std::string& layer, const Location& location) const;
  /// Where the result of a step lives.
  Result<std::vector<Spot>> spots(const Step& step) const;
  /// Which elements of `value`, whose layout is `sharded`, are at `spot`.
  Run run(ValueId value, const Spot& spot) const { return symbols_.run(context_.value(value), spot.replica); }

  /// A value's plain spec on a replica.
  Result<TensorSpec> spec(ValueId value, int replica) const;
  /// An extent as `spot` sees it in a step of `place`.
  Result<int64_t> evaluate(const Extent& extent, const Place& place, const Spot& spot) const;

  /// `error` with what is known about where it happened: "replica i on device d: …", the layer, the line of the model file.
  Error located(Error error, const Step& step, const Spot& spot) const;

 private:
  Replicas(const BindContext& context, SymbolTable symbols, std::vector<std::vector<int>> region_entries);
  /// The lanes of the first `count` devices of the region.
  std::vector<Spot> region_spots(int region, int64_t count) const;
  Error beyond_list(const Place& place, const std::string& layer, const Location& location) const;

  const BindContext& context_;
  SymbolTable symbols_;
  std::vector<std::vector<int>> region_entries_;  ///< by region and replica
  std::vector<bool> keeps_shares_;                ///< by region
};

}  // namespace sheaf
