#include "tests/ptx/access.h"

namespace sheaf::ptx {
namespace {

std::string hexadecimal(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

[[gnu::cold]] void* refuse(Warp& warp, const Instruction& in, uint32_t lane, uint64_t address, uint32_t bytes, bool writes,
                           const std::string& why) {
  warp.fail(in, lane,
            std::string(writes ? "write" : "read") + " of " + std::to_string(bytes) + " bytes at " + hexadecimal(address) +
                ": " + why);
  return nullptr;
}

}  // namespace

void* locate(Warp& warp, const Instruction& in, uint32_t lane, Space space, uint64_t address, uint32_t bytes, Touch touch) {
  const BlockState& block = *warp.block;
  const bool writes = touch == Touch::write || touch == Touch::atomic;
  if (space == Space::generic) {
    const uint64_t window = address & kWindowBits;
    space = window == 0               ? Space::global
            : window == kSharedWindow ? Space::shared
            : window == kLocalWindow  ? Space::local
                                      : Space::param;
    address -= window;
  }
  if (address % bytes) return refuse(warp, in, lane, address, bytes, writes, "not a multiple of " + std::to_string(bytes));
  switch (space) {
    case Space::shared: {
      const bool in_static = address + bytes <= block.kernel->shared_bytes;
      const bool in_dynamic = address >= kDynamicShared && address + bytes <= block.shared_bytes;
      if ((!in_static && !in_dynamic) || address + bytes < bytes)
        return refuse(warp, in, lane, address, bytes, writes, "outside of the block's shared memory");
      if (block.races)
        if (auto race = block.races->touch(warp, in, lane, true, address, bytes, touch))
          return refuse(warp, in, lane, address, bytes, writes, "in shared memory, " + *race);
      return block.shared + address;
    }
    case Space::local:
      if (address >= block.kernel->local_bytes || bytes > block.kernel->local_bytes - address)
        return refuse(warp, in, lane, address, bytes, writes, "outside of the thread's local memory");
      return warp.local + lane * block.kernel->local_bytes + address;
    case Space::param:
      if (address >= block.kernel->parameter_bytes || bytes > block.kernel->parameter_bytes - address)
        return refuse(warp, in, lane, address, bytes, writes, "outside of the parameters");
      if (writes) return refuse(warp, in, lane, address, bytes, writes, "parameters are only read");
      return block.parameters + address;
    default: break;
  }
  if (block.races)
    if (auto race = block.races->touch(warp, in, lane, false, address, bytes, touch))
      return refuse(warp, in, lane, address, bytes, writes, *race);
  const Program& program = *block.program;
  if (address >= program.memory_begin && address < program.memory_end) {
    if (bytes > program.memory_end - address)
      return refuse(warp, in, lane, address, bytes, writes, "behind the module's variables");
    return reinterpret_cast<void*>(address);
  }
  if (void* host = block.memory->access(address, bytes, writes)) return host;
  return refuse(warp, in, lane, address, bytes, writes, block.memory->explain(address, bytes, writes));
}

}  // namespace sheaf::ptx
