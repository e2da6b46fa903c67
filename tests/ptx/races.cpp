#include "tests/ptx/races.h"

namespace sheaf::ptx {

bool RaceDetector::unordered(const Access& a, const Access& b) {
  if (!a.exists() || !b.exists()) return false;
  if (a.block != b.block) return true;
  if (a.thread == b.thread || a.epoch != b.epoch) return false;
  return a.thread / kWarpSize != b.thread / kWarpSize || a.warp_epoch == b.warp_epoch;
}

void RaceDetector::remember_read(Byte& byte, const Access& access) {
  Access *first = &byte.reads[0], *second = &byte.reads[1];
  auto same = [&](const Access& a) { return a.block == access.block && a.thread == access.thread; };
  if (!first->exists() || same(*first)) {
    *first = access;
  } else if (!second->exists() || same(*second)) {
    *second = access;
  } else if (first->block == second->block) {
    // Another block's read conflicts with every write of the first's; of one block, the latest two reads do.
    if (!unordered(*first, access)) *first = access;
    else *second = access;
  }
}

std::string RaceDetector::words(const char* what, const Access& access) {
  return std::string(what) + " at line " + std::to_string(access.line) + " by thread " + std::to_string(access.thread) +
         " of block " + std::to_string(access.block);
}

std::optional<std::string> RaceDetector::touch(const Warp& warp, const Instruction& in, uint32_t lane, bool shared,
                                               uint64_t address, uint32_t bytes, Touch touch) {
  constexpr uint64_t kPage = 1024;
  Access access{warp.block->block_number, warp.number * kWarpSize + lane, warp.block->epoch, warp.epoch, in.line, false};
  const bool writes = touch == Touch::write || touch == Touch::atomic;
  access.atomic = touch == Touch::atomic || touch == Touch::atomic_read;
  Pages& pages = shared ? shared_ : global_;
  for (uint64_t at = address; at < address + bytes; ++at) {
    auto& page = pages[at / kPage];
    if (!page) page = std::make_unique<Byte[]>(kPage);
    Byte& byte = page[at % kPage];
    if (touch == Touch::read_only) {
      if (byte.written_line) return "ld.global.nc of what line " + std::to_string(byte.written_line) + " wrote in this launch";
      byte.read_only_line = in.line;
    }
    if (writes && byte.read_only_line)
      return "write to what line " + std::to_string(byte.read_only_line) + " read by ld.global.nc in this launch";
    if (unordered(byte.write, access)) return words("race with a write", byte.write);
    if (!access.atomic && unordered(byte.atomic, access)) return words("race with an atomic access", byte.atomic);
    if (writes) {
      for (const Access& read : byte.reads)
        if (unordered(read, access)) return words("race with a read", read);
      byte.written_line = in.line;
    }
    if (access.atomic) byte.atomic = access;
    else if (writes) byte.write = access, byte.reads[0] = byte.reads[1] = {};
    else remember_read(byte, access);
  }
  return std::nullopt;
}

}  // namespace sheaf::ptx
