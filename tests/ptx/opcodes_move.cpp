// mov (also of parts of registers), cvta, isspacep.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {
namespace {

template <typename T>
Step move(Warp& warp, const Instruction& in, uint32_t mask) {
  const T* a = warp.at<T>(in.operand[1]);
  store<T>(warp, in, mask, [&](uint32_t i) { return a[i]; });
  return Step::next;
}
Step move_predicate(Warp& warp, const Instruction& in, uint32_t mask) {
  set_predicate(warp, in.operand[0], mask, warp.predicate(in.operand[1]));
  return Step::next;
}

// d = {a, b, …}, the first in the low bits; and the reverse. Operand 0 is the whole, 1 … N the parts.
template <typename Whole, typename Part>
Step pack(Warp& warp, const Instruction& in, uint32_t mask) {
  store<Whole>(warp, in, mask, [&](uint32_t i) {
    Whole whole = 0;
    for (size_t k = 0; k < sizeof(Whole) / sizeof(Part); ++k)
      whole |= static_cast<Whole>(warp.at<Part>(in.operand[k + 1])[i]) << (8 * sizeof(Part) * k);
    return whole;
  });
  return Step::next;
}
template <typename Whole, typename Part>
Step unpack(Warp& warp, const Instruction& in, uint32_t mask) {
  Whole whole[kWarpSize];
  std::memcpy(whole, warp.at<Whole>(in.operand[0]), sizeof whole);
  for (size_t k = 0; k < sizeof(Whole) / sizeof(Part); ++k) {
    Part* part = warp.at<Part>(in.operand[k + 1]);
    each(mask, [&](uint32_t i) { part[i] = static_cast<Part>(whole[i] >> (8 * sizeof(Part) * k)); });
  }
  return Step::next;
}

Type bits_of(int bytes) { return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : Type::b16; }

void decode_parts(Decoding& d, Type type, bool packs) {
  const Operand& parts = d.operand(packs ? 1 : 0);
  const size_t count = parts.elements.size();
  if (count != 2 && count != 4) return d.fail("'mov' of so many parts is not known to the emulator");
  const int part = bytes_of(type) / static_cast<int>(count);
  if (packs) d.destination(0, 0, bytes_of(type));
  else d.source(1, 0, type);
  for (size_t k = 0; k < count; ++k) {
    const int slot = static_cast<int>(k) + 1;
    if (packs) d.source(parts.elements[k], slot, bits_of(part));
    else d.destination(parts.elements[k], slot, part);
  }
  const int bytes = bytes_of(type);
  const Handler handler = bytes == 4 && part == 2   ? (packs ? pack<uint32_t, uint16_t> : unpack<uint32_t, uint16_t>)
                          : bytes == 8 && part == 4 ? (packs ? pack<uint64_t, uint32_t> : unpack<uint64_t, uint32_t>)
                          : bytes == 8 && part == 2 ? (packs ? pack<uint64_t, uint16_t> : unpack<uint64_t, uint16_t>)
                                                    : nullptr;
  d.emit(handler, 2);
}

void decode_mov(Decoding& d) {
  const Type type = d.type();
  if (d.operand(0).kind == Operand::vector) return decode_parts(d, type, false);
  if (d.operand(1).kind == Operand::vector) return decode_parts(d, type, true);
  const int bytes = bytes_of(type);
  d.destination(0, 0, bytes);
  const Variable* variable = d.operand(1).variable;
  if (variable && variable->space == Space::param && d.builder().variable(d.operand(1))->space != Space::param)
    return d.fail("the address of a function's parameter is not known to the emulator");
  d.source(1, 1, type);
  d.emit(type == Type::pred ? move_predicate
         : bytes == 2       ? move<uint16_t>
         : bytes == 4       ? move<uint32_t>
         : bytes == 8       ? move<uint64_t>
                            : nullptr,
         2);
}

// `immediate`: the window of the space; an address in no window is global.
Step to_generic(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint64_t* a = warp.at<uint64_t>(in.operand[1]);
  const auto window = static_cast<uint64_t>(in.immediate);
  store<uint64_t>(warp, in, mask, [&](uint32_t i) { return a[i] + window; });
  return Step::next;
}
Step from_generic(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint64_t* a = warp.at<uint64_t>(in.operand[1]);
  const auto window = static_cast<uint64_t>(in.immediate);
  for (uint32_t lanes = mask; lanes; lanes &= lanes - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(lanes));
    if ((a[lane] & kWindowBits) != window) return warp.fail(in, lane, "cvta.to: the address lies in another space");
  }
  store<uint64_t>(warp, in, mask, [&](uint32_t i) { return a[i] - window; });
  return Step::next;
}
Step is_in_space(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint64_t* a = warp.at<uint64_t>(in.operand[1]);
  uint32_t result = 0;
  each(mask, [&](uint32_t i) { result |= uint32_t{(a[i] & kWindowBits) == static_cast<uint64_t>(in.immediate)} << i; });
  set_predicate(warp, in.operand[0], mask, result);
  return Step::next;
}

int64_t take_window(Decoding& d) {
  const int space = d.one_of({"global", "shared", "local", "param", "const", "shared::cta"});
  if (space < 0) d.fail("'" + d.statement().opcode + "' lacks its space");
  constexpr uint64_t windows[] = {0, kSharedWindow, kLocalWindow, kParamWindow, 0, kSharedWindow};
  return static_cast<int64_t>(windows[std::max(space, 0)]);
}

void decode_cvta(Decoding& d) {
  const bool to = d.take("to");
  d.out.immediate = take_window(d);
  const Type type = d.type();
  d.destination(0, 0, 8);
  const Operand& from = d.operand(1);
  if (from.kind == Operand::name && !from.reg) {  // of a variable: a constant
    d.source(1, 1, Type::b64);
  } else {
    d.source(1, 1, type);
  }
  d.emit(type != Type::u64 ? nullptr : to ? from_generic : to_generic, 2);
}

void decode_isspacep(Decoding& d) {
  d.out.immediate = take_window(d);
  d.destination(0, 0, 0);
  d.source(1, 1, Type::u64);
  d.emit(is_in_space, 2);
}

}  // namespace

const OpcodeTable& move_opcodes() {
  static const OpcodeTable table = {{"mov", decode_mov}, {"cvta", decode_cvta}, {"isspacep", decode_isspacep}};
  return table;
}

}  // namespace sheaf::ptx
