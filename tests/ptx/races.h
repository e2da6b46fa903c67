// Finds accesses to the same byte that nothing orders: the schedule of threads would decide the result.
#pragma once

#include "tests/ptx/warp.h"

#include <optional>

namespace sheaf::ptx {

enum class Touch : uint8_t { read, read_only, write, atomic, atomic_read };  // read_only: ld.global.nc

/// Two accesses are ordered if one thread makes both, or threads of a block with a barrier between them (of the block, or
/// bar.warp.sync of their whole warp). For each byte the last write and, of the reads since, two that no later write can be
/// ordered with unless it is with both are kept.
class RaceDetector {
 public:
  /// What the access conflicts with, in words; nothing if it doesn't.
  std::optional<std::string> touch(const Warp& warp, const Instruction& in, uint32_t lane, bool shared, uint64_t address,
                                   uint32_t bytes, Touch touch);
  /// Shared memory of the next block is another one.
  void next_block() { shared_.clear(); }

 private:
  struct Access {
    uint64_t block = ~uint64_t{0};
    uint32_t thread = 0;
    uint32_t epoch = 0, warp_epoch = 0;
    uint32_t line = 0;
    bool atomic = false;
    bool exists() const { return block != ~uint64_t{0}; }
  };
  struct Byte {
    Access write, atomic, reads[2];
    uint32_t read_only_line = 0;  ///< of an ld.global.nc
    uint32_t written_line = 0;
  };
  using Pages = std::unordered_map<uint64_t, std::unique_ptr<Byte[]>>;

  static bool unordered(const Access& a, const Access& b);
  static void remember_read(Byte& byte, const Access& access);
  static std::string words(const char* what, const Access& access);

  Pages global_, shared_;
};

}  // namespace sheaf::ptx
