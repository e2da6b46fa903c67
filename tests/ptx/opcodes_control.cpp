// Branches, calls, returns, fences.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <algorithm>

namespace sheaf::ptx {
namespace {

/// Checks that every modifier is known.
void only(Decoding& d, std::initializer_list<std::string_view> known) {
  for (const std::string& modifier : d.statement().modifiers)
    if (std::find(known.begin(), known.end(), modifier) == known.end())
      d.fail("modifier '." + modifier + "' of '" + d.statement().opcode + "' is not known to the emulator");
}

void decode_bra(Decoding& d) {
  only(d, {"uni"});
  if (d.operands() != 1 || d.operand(0).kind != Operand::name) return d.fail("'bra' goes to one label");
  d.builder().branch(d.statement(), d.out);
}

void decode_brx(Decoding& d) {
  only(d, {"idx", "uni"});
  if (d.operands() != 2) return d.fail("'brx' takes an index and a list of targets");
  d.source(0, 0, Type::u32);
  d.builder().indexed_branch(d.statement(), d.out);
}

void decode_call(Decoding& d) {
  only(d, {"uni"});
  d.builder().call(d.statement());
}

void decode_return(Decoding& d) {
  only(d, {"uni"});
  d.builder().leave(d.statement(), d.out);
}

/// Blocks and threads see each other's writes at once here.
void decode_fence(Decoding& d) { only(d, {"cta", "gl", "sys", "gpu", "cluster", "acq_rel", "sc", "acquire", "release"}); }

void decode_trap(Decoding& d) {
  only(d, {});
  auto trap = [](Warp& warp, const Instruction& in, uint32_t mask) {
    return warp.fail(in, static_cast<uint32_t>(std::countr_zero(mask)), "trap");
  };
  d.emit(trap, 0);
}

/// Without an effect on values.
void decode_sleep(Decoding& d) {
  only(d, {"u32"});
  d.out.kind = Instruction::sleep;
  d.builder().emit(d.out);
}

}  // namespace

const OpcodeTable& control_opcodes() {
  static const OpcodeTable table = {
      {"bra", decode_bra},      {"brx", decode_brx},     {"call", decode_call},
      {"ret", decode_return},   {"exit", decode_return}, {"fence", decode_fence},
      {"membar", decode_fence}, {"trap", decode_trap},   {"nanosleep", decode_sleep},
  };
  return table;
}

}  // namespace sheaf::ptx
