#include "tests/ptx/races.h"

#include <algorithm>

namespace sheaf::ptx {

void RaceDetector::Page::split(uint32_t bytes) {
  const uint32_t parts = cell_bytes / bytes;
  std::vector<Cell> finer;
  finer.reserve(cells.size() * parts);
  for (const Cell& cell : cells) finer.insert(finer.end(), parts, cell);
  cells = std::move(finer);
  cell_bytes = bytes;
}

RaceDetector::Page& RaceDetector::Pages::at(uint64_t number) {
  if (number != last_number) {
    last = &all[number];
    last_number = number;
  }
  return *last;
}

void RaceDetector::Pages::clear() {
  all.clear();
  last_number = ~uint64_t{0};
}

void RaceDetector::work_together(uint64_t blocks) {
  known_.assign(blocks, Known(blocks, 0));
  for (uint64_t block = 0; block < blocks; ++block) known_[block][block] = 1;
}

void RaceDetector::synchronise(uint64_t block, uint64_t address, bool releases) {
  Known &word = released_[address], &own = known_[block];
  word.resize(own.size());
  for (size_t i = 0; i < own.size(); ++i) {
    own[i] = std::max(own[i], word[i]);
    if (releases) word[i] = own[i];
  }
  if (releases) ++own[block];
}

bool RaceDetector::unordered(const Access& a, const Access& b) const {
  if (!a.exists() || !b.exists()) return false;
  if (a.block() != b.block()) return known_.empty() || known_[b.block() - 1][a.block() - 1] < a.time;
  if (a.thread() == b.thread() || a.epoch() != b.epoch()) return false;
  return a.thread() / kWarpSize != b.thread() / kWarpSize || a.warp_epoch() == b.warp_epoch();
}

void RaceDetector::remember_read(Cell& cell, const Access& access) const {
  Access *first = &cell.reads[0], *second = &cell.reads[1];
  auto same = [&](const Access& a) { return a.block() == access.block() && a.thread() == access.thread(); };
  if (!first->exists() || same(*first)) {
    *first = access;
  } else if (!second->exists() || same(*second)) {
    *second = access;
  } else if (first->block() == second->block()) {
    // Another block's read conflicts with every write of the first block's; within a block, the latest two reads do.
    if (!unordered(*first, access)) *first = access;
    else *second = access;
  }
}

std::string RaceDetector::words(const char* what, const Access& access) {
  return std::string(what) + " at line " + std::to_string(access.line) + " by thread " + std::to_string(access.thread()) +
         " of block " + std::to_string(access.block() - 1);
}

std::optional<std::string> RaceDetector::touch_cell(Cell& cell, const Access& access, Touch touch) {
  const bool writes = touch == Touch::write || touch == Touch::atomic;
  const bool atomic = touch == Touch::atomic || touch == Touch::atomic_read;
  if (touch == Touch::read_only) {
    if (cell.written_line) return "ld.global.nc of what line " + std::to_string(cell.written_line) + " wrote in this launch";
    cell.read_only_line = access.line;
  }
  if (writes && cell.read_only_line)
    return "write to what line " + std::to_string(cell.read_only_line) + " read by ld.global.nc in this launch";
  if (unordered(cell.write, access)) return words("race with a write", cell.write);
  if (!atomic && unordered(cell.atomic, access)) return words("race with an atomic access", cell.atomic);
  if (writes) {
    for (const Access& read : cell.reads)
      if (unordered(read, access)) return words("race with a read", read);
    cell.written_line = access.line;
  }
  if (atomic) {
    cell.atomic = access;
  } else if (writes) {
    cell.write = access;
    cell.reads[0] = cell.reads[1] = {};
  } else {
    remember_read(cell, access);
  }
  return std::nullopt;
}

std::optional<std::string> RaceDetector::touch(const Warp& warp, const Instruction& in, uint32_t lane, bool shared,
                                               uint64_t address, uint32_t bytes, Touch touch) {
  const uint64_t block = warp.block->block_number;
  const bool together = !known_.empty();
  if (together && !shared && (touch == Touch::atomic || touch == Touch::atomic_read))
    synchronise(block, address, touch == Touch::atomic);
  const Access access{(block + 1) << 38 | uint64_t{warp.number * kWarpSize + lane} << 28 |
                          uint64_t{warp.block->epoch & 16383} << 14 | (warp.epoch & 16383),
                      in.line, together ? known_[block][block] : 0};
  Pages& pages = shared ? shared_ : global_;
  // Aligned, of 16 bytes at most: within one page.
  Page& page = pages.at(address / kPage + (together && shared ? (block + 1) << 32 : 0));
  if (bytes < page.cell_bytes) page.split(bytes);
  const uint64_t begin = address % kPage / page.cell_bytes, end = (address % kPage + bytes) / page.cell_bytes;
  for (uint64_t i = begin; i < end; ++i)
    if (auto race = touch_cell(page.cells[i], access, touch)) return race;
  return std::nullopt;
}

}  // namespace sheaf::ptx
