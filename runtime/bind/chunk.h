// Sizes: the values of a program's symbols for a batch and a device list. dump, estimate, verify and run all take sizes from
// this one piece of code. Semantics: torch.chunk and nn.DataParallel.
#pragma once

#include "runtime/plan/plan.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// torch.chunk: `total` rows in at most `devices` chunks of ceil(total / devices) rows, the last one smaller.
/// There may be fewer chunks than devices (10 rows on 8: five chunks of 2). No rows: one empty chunk.
/// `devices` is at least 1, `total` at least 0; the caller ensures both.
std::vector<int64_t> chunk_sizes(int64_t total, int64_t devices);

/// Consecutive elements of a tensor in row-major order.
struct Run {
  int64_t begin = 0, count = 0;
  bool operator==(const Run&) const = default;
};

/// Member `i`'s run of `elements` divided over `members`: ceil(elements / members) of them, or fewer or none at the end.
Run run_of(int64_t elements, int64_t members, int64_t i);

/// The values of a program's symbols for one batch size and one device list.
class SymbolTable {
 public:
  /// `region_devices[r]`: how many devices the group of plan.regions[r] has (1 in host-only mode). `batch` is
  /// the number of rows, 0 included. Errors: two scattered inputs of a region that give different numbers of
  /// chunks (located at the region's layer, naming both values and their sizes); a size that is negative or
  /// too large.
  static Result<SymbolTable> build(const Plan& plan, const Program& program, int64_t batch,
                                   std::span<const int64_t> region_devices);

  int64_t batch() const { return batch_; }

  /// How many replicas of region `r` run: the number of chunks of its scattered inputs, or the number of its devices if nothing
  /// is scattered. Replica i runs on the i-th device of the group.
  int64_t replicas(int region) const { return replicas_[static_cast<size_t>(region)]; }

  /// How many devices the group of region `r` has, including those without rows. Each has one share of values kept in shares.
  int64_t members(int region) const { return members_[static_cast<size_t>(region)]; }

  /// The elements of `value`, whose layout is `sharded`, that member `replica` of its region has.
  Run run(const Value& value, int64_t replica) const;

  /// The chunks of the scattered size `symbol`, one for each replica of its region; empty for other symbols.
  std::span<const int64_t> chunks(const std::string& symbol) const;

  /// An extent as seen at `place` by replica `replica` (ignored outside regions). Errors: a chunk of another
  /// region, an unknown symbol, overflow.
  Result<int64_t> evaluate(const Extent& extent, const Place& place, int64_t replica = 0) const;

  /// A value's dims on a replica, of one in shares the length of its run; each is between 0 and kLargestDim, the bytes less
  /// than kLargestBytes, or it is an error that names the value.
  Result<std::vector<int64_t>> dims(const Value& value, int64_t replica = 0) const;

 private:
  struct Chunks {
    int region;
    std::vector<int64_t> sizes;
  };

  int64_t batch_ = 0;
  std::vector<int64_t> replicas_;           ///< by region
  std::vector<int64_t> members_;            ///< by region
  std::map<std::string, int64_t> scalars_;  ///< batch and replica counts, by symbol
  std::map<std::string, Chunks> chunks_;    ///< by symbol
  std::map<std::string, Chunks> offsets_;   ///< by symbol: where chunks begin, not their sizes
};

}  // namespace sheaf
