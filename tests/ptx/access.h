// One thread's access to memory in any space: where the bytes are, and whether it may.
#pragma once

#include "tests/ptx/races.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {

/// Loads', stores' and atomics' Instruction::mode.
uint8_t pack_mode(Space space, Touch touch);
Space space_of(const Instruction& in);
Touch touch_of(const Instruction& in);

/// Where `bytes` at `address` of `space` are for `lane`. Null after a fault: warp.fault says which.
void* locate(Warp& warp, const Instruction& in, uint32_t lane, Space space, uint64_t address, uint32_t bytes, Touch touch);

/// The address that a load or store of `lane` names: the register in `slot`, displaced.
inline uint64_t address_of(Warp& warp, const Instruction& in, size_t slot, uint32_t lane) {
  const uint64_t base = in.wide ? warp.at<uint64_t>(in.operand[slot])[lane] : warp.at<uint32_t>(in.operand[slot])[lane];
  return base + static_cast<uint64_t>(in.immediate);
}

}  // namespace sheaf::ptx
