// A warp while it runs: its registers and memory, and helpers for handlers of instructions.
#pragma once

#include "tests/ptx/program.h"

#include <bit>
#include <cstring>
#include <span>

namespace sheaf::ptx {

class RaceDetector;

/// What all warps of a block see.
struct BlockState {
  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  Memory* memory = nullptr;
  RaceDetector* races = nullptr;  ///< null: not looked for
  std::byte* parameters = nullptr;
  std::byte* shared = nullptr;
  size_t shared_bytes = 0;
  std::array<uint32_t, 3> grid{}, block{}, index{};
  uint64_t block_number = 0;
  uint32_t epoch = 0;  ///< how many barriers the block has passed
};

/// Why a thread cannot go on.
struct Fault {
  std::string what;
  uint32_t line = 0;
  uint32_t thread = 0;  ///< in the block
};

class Warp {
 public:
  template <typename T>
  T* at(uint32_t place) {
    return reinterpret_cast<T*>(registers + place);
  }
  uint32_t& predicate(uint32_t place) { return *at<uint32_t>(place); }

  [[gnu::cold]] Step fail(const Instruction& instruction, uint32_t lane, std::string what) {
    fault = {std::move(what), instruction.line, number * kWarpSize + lane};
    return Step::fault;
  }

  BlockState* block = nullptr;
  std::byte* registers = nullptr;
  std::byte* local = nullptr;  ///< Kernel::local_bytes a thread
  uint32_t number = 0;         ///< in its block
  uint32_t live = 0;           ///< threads that have not exited
  uint32_t epoch = 0;          ///< how often all its threads have met at bar.warp.sync
  Fault fault;
};

/// Calls f(lane) for each thread of `mask`.
template <typename F>
inline void each(uint32_t mask, F f) {
  if (mask == ~0u) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) f(lane);
  } else {
    for (; mask; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
  }
}

// Handlers whose result is a function of the thread's own operands. All results are computed before any is stored, so the loop
// need not check whether result and operands overlap.
template <typename D, typename F>
inline void store(Warp& warp, const Instruction& in, uint32_t mask, F value) {
  D* d = warp.at<D>(in.operand[0]);
  if (mask == ~0u) {
    D results[kWarpSize];
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) results[lane] = value(lane);
    std::memcpy(d, results, sizeof results);
  } else {
    for (; mask; mask &= mask - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
      d[lane] = value(lane);
    }
  }
}

template <typename D, typename A, typename F>
Step unary(Warp& warp, const Instruction& in, uint32_t mask) {
  const A* a = warp.at<A>(in.operand[1]);
  store<D>(warp, in, mask, [&](uint32_t i) { return F{}(a[i]); });
  return Step::next;
}

template <typename D, typename A, typename B, typename F>
Step binary(Warp& warp, const Instruction& in, uint32_t mask) {
  const A* a = warp.at<A>(in.operand[1]);
  const B* b = warp.at<B>(in.operand[2]);
  store<D>(warp, in, mask, [&](uint32_t i) { return F{}(a[i], b[i]); });
  return Step::next;
}

template <typename D, typename A, typename B, typename C, typename F>
Step ternary(Warp& warp, const Instruction& in, uint32_t mask) {
  const A* a = warp.at<A>(in.operand[1]);
  const B* b = warp.at<B>(in.operand[2]);
  const C* c = warp.at<C>(in.operand[3]);
  store<D>(warp, in, mask, [&](uint32_t i) { return F{}(a[i], b[i], c[i]); });
  return Step::next;
}

/// Makes the bits of `mask` in the predicate those of `value`.
inline void set_predicate(Warp& warp, uint32_t place, uint32_t mask, uint32_t value) {
  if (place == kNone) return;
  uint32_t& predicate = warp.predicate(place);
  predicate = (predicate & ~mask) | (value & mask);
}

}  // namespace sheaf::ptx
