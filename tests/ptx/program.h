// Decoded kernels: what warps execute.
#pragma once

#include "tests/ptx/emulator.h"
#include "tests/ptx/syntax.h"

#include <cstddef>
#include <map>

namespace sheaf::ptx {

class Warp;
struct Instruction;

inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kNone = ~0u;

/// A handler's report on the instruction that it executed.
enum class Step : uint8_t { next, fault, asleep };

/// Executes an instruction for the threads of a warp that are in `mask`.
using Handler = Step (*)(Warp& warp, const Instruction& instruction, uint32_t mask);

/// Operands are places in a warp's register file: 32 elements of a register's size, one per thread; a predicate is one word,
/// with one bit per thread. Constants and special registers have places as well, filled once.
struct Instruction {
  enum Kind : uint8_t {
    plain,    ///< the handler executes it
    branch,   ///< to `target`
    indexed,  ///< brx.idx: to targets[operand 0]
    exit,
    meet,     ///< threads of the warp that operand 5 names meet, then the handler executes it
    barrier,  ///< threads of the block meet (Barrier in `immediate`)
    sleep,    ///< other blocks may go on
  };
  Handler handler = nullptr;
  Kind kind = plain;
  bool guard_negated = false;
  uint8_t wide = 0;  ///< loads, stores: the address has 64 bits
  uint8_t mode = 0;  ///< the handler's own
  uint32_t guard = kNone;
  uint32_t line = 0;
  uint32_t target = 0;  ///< branch; indexed: first of Kernel::targets
  std::array<uint32_t, 6> operand{kNone, kNone, kNone, kNone, kNone, kNone};
  int64_t immediate = 0;
};

/// What a barrier instruction does, in Instruction::mode.
enum class Barrier : uint8_t { sync, popc, all, any };

enum class Special : uint8_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  nwarpid,
  lanemask_eq,
  lanemask_le,
  lanemask_lt,
  lanemask_ge,
  lanemask_gt,
  dynamic_smem_size,
};

/// Windows of generic addresses: none is an address of the host. The spaces' own addresses begin at 0.
inline constexpr uint64_t kSharedWindow = 1ull << 60, kLocalWindow = 2ull << 60, kParamWindow = 3ull << 60;
inline constexpr uint64_t kWindowBits = 3ull << 60;

/// Where dynamic shared memory begins, whatever the static variables take (48 KiB at most).
inline constexpr uint64_t kDynamicShared = 48 * 1024;

struct Kernel {
  std::string name;
  std::vector<ParameterInfo> parameters;
  std::vector<size_t> parameter_offsets;
  size_t parameter_bytes = 0;
  std::vector<uint32_t> max_threads, required_threads;

  std::vector<Instruction> code;
  std::vector<uint32_t> targets;
  size_t register_bytes = 0;  ///< of a warp
  struct Constant {
    uint32_t place;
    int bytes;  ///< 0: a predicate
    uint64_t bits;
  };
  std::vector<Constant> constants;
  std::map<Special, uint32_t> specials;
  size_t shared_bytes = 0;  ///< static
  size_t local_bytes = 0;   ///< of a thread
};

struct Program {
  std::string name;
  std::map<std::string, Kernel, std::less<>> kernels;
  /// The module's variables in .global and .const, at fixed host addresses.
  std::unique_ptr<std::byte[]> memory;
  uint64_t memory_begin = 0, memory_end = 0;
};

Result<std::shared_ptr<const Program>> decode(const Text& text);

}  // namespace sheaf::ptx
