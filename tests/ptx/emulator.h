// An emulator of PTX, for tests: runs the code that LLVM's NVPTX back-end and nvcc emit for our kernels, as the PTX ISA
// specifies (https://docs.nvidia.com/cuda/parallel-thread-execution), without a GPU. Anything it does not know is an error that
// names the line, never a guess.
//
// A warp's 32 threads run together while they are at the same instruction; those at the lowest one run first. Blocks run one
// after another, those of a cooperative launch in turns: each until all its threads wait at barriers or sleep (nanosleep).
// Instructions that threads meet at (shfl.sync, vote.sync, bar.sync, …) wait for all threads they name; if these cannot come
// any more, the error says which are missing. "Approximate" instructions give the nearest value; results that the ISA leaves
// undefined are NaN-like patterns.
#pragma once

#include "runtime/base/error.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sheaf::ptx {

/// A parameter of an entry.
struct ParameterInfo {
  std::string name;
  size_t bytes = 0;
  size_t alignment = 1;
};

struct LaunchSize {
  std::array<uint32_t, 3> grid{1, 1, 1};   ///< blocks
  std::array<uint32_t, 3> block{1, 1, 1};  ///< threads, 1024 at most
  size_t shared_bytes = 0;                 ///< dynamic shared memory
  bool cooperative = false;                ///< all blocks are resident at once: one may wait for what others write
};

/// The global memory that a kernel sees. Asked at each global access of each thread, in the thread that called
/// launch().
class Memory {
 public:
  virtual ~Memory() = default;
  /// Where the host has the `bytes` (1 to 16) at `address`; null if they may not be accessed. An atomic operation writes.
  virtual void* access(uint64_t address, size_t bytes, bool writes) = 0;
  /// For the message if access() gave null: what is there, e.g. "16 bytes behind the arena of lane 0".
  virtual std::string explain(uint64_t address, size_t bytes, bool writes) { return "outside of the memory given to it"; }
};

/// The process's own memory, all of it: a wild access faults in the process.
class HostMemory final : public Memory {
 public:
  void* access(uint64_t address, size_t, bool) override { return reinterpret_cast<void*>(address); }
};

struct LaunchOptions {
  /// An error if two threads access the same byte of global or shared memory, one of them writes, they don't both use atom, red
  /// or volatile, and no barrier is between. (Threads of two blocks have no barrier between them; in a cooperative launch an
  /// atomic operation, or a volatile or acquiring read, comes after everything its block's other threads did before their
  /// atomic operations there.)
  bool detect_races = false;
  /// The last block runs first: no block may rely on one before it.
  bool reverse_blocks = false;
  /// A launch with more instructions (each counted once per warp) is an error: it hangs.
  uint64_t instruction_limit = 2'000'000'000;
};

/// What a launch did.
struct LaunchCounts {
  uint64_t warp_instructions = 0;    ///< each counted once a warp
  uint64_t thread_instructions = 0;  ///< each counted once a thread
};

struct Program;

/// A parsed module. Launches may run at the same time from several threads.
class PtxModule {
 public:
  /// Errors: a line that isn't PTX, or an instruction, modifier or directive that the emulator does not know. `name` is the
  /// file's name in messages.
  static Result<PtxModule> parse(std::string_view text, const std::string& name = "ptx");

  bool has(std::string_view entry) const;
  std::vector<std::string> entries() const;
  /// In order; empty if there is no such entry.
  std::vector<ParameterInfo> parameters(std::string_view entry) const;

  /// Runs an entry to its end. `arguments[i]` is the address of the value of parameter i, as cuLaunchKernel takes
  /// it. Errors: no such entry, a size that the entry or the hardware doesn't allow; a fault, with entry, line of
  /// the text, block and thread: memory that `memory` refuses, a misaligned address, a barrier that cannot
  /// complete, a race.
  Result<LaunchCounts> launch(std::string_view entry, const LaunchSize& size, const void* const* arguments, Memory& memory,
                              const LaunchOptions& options = {}) const;

 private:
  explicit PtxModule(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace sheaf::ptx
