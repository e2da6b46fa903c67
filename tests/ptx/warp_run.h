// A warp's way through a kernel: which of its threads are where.
#pragma once

#include "tests/ptx/warp.h"

namespace sheaf::ptx {

class WarpRun : public Warp {
 public:
  /// Threads at one instruction: ready to execute it, waiting for others of the warp, at a barrier, or asleep.
  struct Split {
    uint32_t pc = 0;
    uint32_t mask = 0;
    enum State : uint8_t { ready, meeting, at_barrier, asleep } state = ready;
  };

  void start(uint32_t threads) {
    live = threads;
    epoch = 0;
    count_ = 1;
    splits_[0] = {0, threads, Split::ready};
  }
  /// Runs until no thread is ready. `budget` counts down by one per instruction; reaching 0 is a fault.
  Step run(uint64_t& budget);

  bool finished() const { return live == 0; }
  std::span<Split> splits() { return {splits_.data(), count_}; }

  uint64_t thread_instructions = 0;

 private:
  void push(uint32_t pc, uint32_t mask, Split::State state = Split::ready) {
    if (mask) splits_[count_++] = {pc, mask, state};
  }
  /// Takes the ready threads at the lowest instruction; `limit`: where the next ready ones are.
  bool pick(uint32_t& pc, uint32_t& mask, uint32_t& limit);
  /// Joins the threads that wait here; returns whether all that the threads name have come.
  bool all_met(const Instruction& in, uint32_t pc, uint32_t& mask);
  void leave_indexed(const Instruction& in, uint32_t pc, uint32_t mask);

  std::array<Split, kWarpSize + 1> splits_;
  size_t count_ = 0;
};

}  // namespace sheaf::ptx
