// Sizes of a program's values in the unpartitioned program, and on each replica.
#pragma once

#include "runtime/bind/chunk.h"
#include "runtime/device/device_set.h"

namespace sheaf {

/// The values of a program's symbols: in the whole, a chunk is everything that is split and begins at 0; on a replica it is
/// that replica's. The number of replicas is the partitioned run's in both.
class Sizes {
 public:
  static constexpr int kWhole = -1;

  /// Errors: those of SymbolTable::build and DeviceSet::region_entries.
  static Result<Sizes> make(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch);

  int64_t replicas(int region) const { return table_.replicas(region); }
  /// The elements of a value in shares that `replica` has.
  Run run(const Value& value, int replica) const { return table_.run(value, replica); }
  /// `replica`: a replica of the region at `place`, or kWhole.
  Result<int64_t> evaluate(const Extent& extent, const Place& place, int replica) const;
  Result<std::vector<int64_t>> dims(const Value& value, int replica) const;
  /// Where each replica's chunk of a value split along `dim` begins and, at the end, the sum of all.
  Result<std::vector<int64_t>> bounds(const Value& value, int dim) const;

 private:
  Sizes(const Program& program, SymbolTable table) : program_(&program), table_(std::move(table)) {}
  const Program* program_;
  SymbolTable table_;
};

}  // namespace sheaf
