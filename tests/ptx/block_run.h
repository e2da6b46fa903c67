// A block of threads: its warps in turn, and their barriers.
#pragma once

#include "tests/ptx/warp_run.h"

namespace sheaf::ptx {

class BlockRun {
 public:
  /// Memory for blocks of `size.block` threads, used by one block after another.
  BlockRun(const Program& program, const Kernel& kernel, const LaunchSize& size, const void* const* arguments, Memory& memory,
           RaceDetector* races);
  /// Runs block `number`, x counting first. At a fault: the value of fault().
  Step run(uint64_t number, uint64_t& budget);
  /// The same in pieces: go_on() returns `asleep` if threads sleep and no others can go on.
  void start(uint64_t number);
  Step go_on(uint64_t& budget);
  const Fault& fault() const { return fault_; }
  uint64_t thread_instructions() const;

 private:
  void fill_registers(WarpRun& warp);
  void fill_block(WarpRun& warp);
  /// Releases the threads that wait at complete barriers; returns whether there were any.
  bool release_barriers();
  bool release(uint32_t barrier);
  /// Whether any thread slept, and goes on.
  bool wake();
  struct Waiting {
    WarpRun* warp;
    WarpRun::Split* split;
  };
  void finish(std::span<const Waiting> waiting, const Instruction& first);
  /// Which threads wait where, for a block that cannot go on.
  void report_deadlock();
  uint32_t live_threads() const;

  const Kernel& kernel_;
  BlockState state_;
  uint32_t threads_ = 0;
  std::vector<WarpRun> warps_;
  std::unique_ptr<std::byte[]> registers_, local_, shared_, parameters_;
  std::vector<Waiting> waiting_;
  Fault fault_;
};

}  // namespace sheaf::ptx
