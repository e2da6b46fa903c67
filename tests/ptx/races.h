// Finds accesses to the same byte that nothing orders: the schedule of threads would decide the result.
#pragma once

#include "tests/ptx/warp.h"

#include <map>
#include <optional>

namespace sheaf::ptx {

enum class Touch : uint8_t { read, read_only, write, atomic, atomic_read };  // read_only: ld.global.nc

/// Two accesses are ordered if one thread makes both, or threads of a block with a barrier between them (of the block, or
/// bar.warp.sync of their whole warp). For each cell it keeps the last write, the last atomic access and two of the reads since
/// that write, chosen so that a later write unordered with any read is unordered with one of them.
class RaceDetector {
 public:
  /// What the access conflicts with, in words; nothing if it doesn't.
  std::optional<std::string> touch(const Warp& warp, const Instruction& in, uint32_t lane, bool shared, uint64_t address,
                                   uint32_t bytes, Touch touch);
  /// Shared memory of the next block is another one.
  void next_block() { shared_.clear(); }
  /// The launch's blocks run in turns, and may wait for each other: everything a block did before an atomic operation on a word
  /// comes before everything another does after it has read, or operated on, that word.
  void work_together(uint64_t blocks);

 private:
  /// Who, packed: block, thread, barriers passed by the block, by the warp. 0: nobody. (Counts wrap: only after
  /// 2^14 barriers could two be mixed up.)
  struct Access {
    uint64_t who = 0;
    uint32_t line = 0;
    uint32_t time = 0;  ///< the block's, in a cooperative launch
    bool exists() const { return who != 0; }
    uint64_t block() const { return who >> 38; }
    uint32_t thread() const { return who >> 28 & 1023; }
    uint32_t epoch() const { return who >> 14 & 16383; }
    uint32_t warp_epoch() const { return who & 16383; }
  };
  struct Cell {
    Access write, atomic, reads[2];
    uint32_t read_only_line = 0;  ///< of an ld.global.nc
    uint32_t written_line = 0;
  };
  /// kPage bytes of memory: cells of 4 bytes, or smaller ones as soon as a smaller access comes.
  static constexpr uint64_t kPage = 256;
  struct Page {
    std::vector<Cell> cells = std::vector<Cell>(kPage / 4);
    uint32_t cell_bytes = 4;
    void split(uint32_t bytes);
  };
  struct Pages {
    std::unordered_map<uint64_t, Page> all;
    uint64_t last_number = ~uint64_t{0};
    Page* last = nullptr;
    Page& at(uint64_t number);
    void clear();
  };

  /// `b` is the one that is being made.
  bool unordered(const Access& a, const Access& b) const;
  void remember_read(Cell& cell, const Access& access) const;
  std::optional<std::string> touch_cell(Cell& cell, const Access& access, Touch touch);
  static std::string words(const char* what, const Access& access);

  /// By block: how far it knows what each other block did. Empty: blocks run one after another.
  using Known = std::vector<uint32_t>;
  void synchronise(uint64_t block, uint64_t address, bool releases);

  Pages global_, shared_;
  std::vector<Known> known_;
  std::map<uint64_t, Known> released_;  ///< by address of a word
};

}  // namespace sheaf::ptx
