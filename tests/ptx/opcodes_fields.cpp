// Bit fields, bytes of two words, logic of three operands: bfe, bfi, prmt, lop3.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <algorithm>

namespace sheaf::ptx {
namespace {

template <typename T>
struct Bfe {
  T operator()(T a, uint32_t position, uint32_t length) const {
    constexpr uint32_t msb = 8 * sizeof(T) - 1;
    position &= 255;
    length &= 255;
    const bool sign = std::is_signed_v<T> && length && (a >> std::min(position + length - 1, msb) & 1);
    std::make_unsigned_t<T> result = 0;
    for (uint32_t i = 0; i <= msb; ++i) {
      const bool bit = i < length && position + i <= msb ? a >> (position + i) & 1 : sign;
      result |= static_cast<std::make_unsigned_t<T>>(bit) << i;
    }
    return static_cast<T>(result);
  }
};
template <typename T>
T insert(T a, T b, uint32_t position, uint32_t length) {
  for (uint32_t i = 0; i < (length & 255) && (position & 255) + i < 8 * sizeof(T); ++i) {
    const T bit = T{1} << ((position & 255) + i);
    b = (a >> i & 1) ? b | bit : b & ~bit;
  }
  return b;
}
template <typename T>
Step bfi(Warp& warp, const Instruction& in, uint32_t mask) {
  const T *a = warp.at<T>(in.operand[1]), *b = warp.at<T>(in.operand[2]);
  const uint32_t *c = warp.at<uint32_t>(in.operand[3]), *d = warp.at<uint32_t>(in.operand[4]);
  store<T>(warp, in, mask, [&](uint32_t i) { return insert<T>(a[i], b[i], c[i], d[i]); });
  return Step::next;
}
Step lop3(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t* operands[3];
  for (size_t i = 0; i < 3; ++i) operands[i] = warp.at<uint32_t>(in.operand[i + 1]);
  const auto table = static_cast<uint32_t>(in.immediate);
  store<uint32_t>(warp, in, mask, [&](uint32_t i) {
    const uint32_t a = operands[0][i], b = operands[1][i], c = operands[2][i];
    uint32_t result = 0;
    for (uint32_t row = 0; row < 8; ++row)
      if (table >> row & 1) result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
    return result;
  });
  return Step::next;
}
// Selectors of a byte: 0 to 7 of {b, a}; + 8: its sign, eight times.
template <int Mode>
struct Prmt {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t c) const {
    const uint64_t bytes = uint64_t{b} << 32 | a;
    // Rows: c & 3. Columns: from the lowest byte of the result.
    static constexpr uint8_t kModes[6][4][4] = {
        {{0, 1, 2, 3}, {1, 2, 3, 4}, {2, 3, 4, 5}, {3, 4, 5, 6}},  // f4e
        {{0, 7, 6, 5}, {1, 0, 7, 6}, {2, 1, 0, 7}, {3, 2, 1, 0}},  // b4e
        {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}},  // rc8
        {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}},  // ecl
        {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}},  // ecr
        {{0, 1, 0, 1}, {2, 3, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}},  // rc16
    };
    uint32_t result = 0;
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t selector = Mode < 0 ? c >> (4 * i) & 15 : kModes[Mode < 0 ? 0 : Mode][c & 3][i];
      uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (selector & 7))) & 255;
      if (selector & 8) byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};

void decode_bfe(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, Type::u32);
  d.source(3, 3, Type::u32);
  d.emit(type == Type::u32   ? ternary<uint32_t, uint32_t, uint32_t, uint32_t, Bfe<uint32_t>>
         : type == Type::s32 ? ternary<int32_t, int32_t, uint32_t, uint32_t, Bfe<int32_t>>
         : type == Type::u64 ? ternary<uint64_t, uint64_t, uint32_t, uint32_t, Bfe<uint64_t>>
         : type == Type::s64 ? ternary<int64_t, int64_t, uint32_t, uint32_t, Bfe<int64_t>>
                             : nullptr,
         4);
}
void decode_bfi(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.source(3, 3, Type::u32);
  d.source(4, 4, Type::u32);
  d.emit(type == Type::b32 ? bfi<uint32_t> : type == Type::b64 ? bfi<uint64_t> : nullptr, 5);
}
void decode_lop3(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, 4);
  for (int i = 1; i < 4; ++i) d.source(static_cast<size_t>(i), i, Type::b32);
  if (d.operand(4).kind != Operand::integer) return d.fail("the table of 'lop3' is no constant");
  d.out.immediate = static_cast<int64_t>(d.operand(4).bits);
  d.emit(type == Type::b32 ? lop3 : nullptr, 5);
}
void decode_prmt(Decoding& d) {
  const int mode = d.one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  const Type type = d.type();
  d.destination(0, 0, 4);
  for (int i = 1; i < 4; ++i) d.source(static_cast<size_t>(i), i, Type::b32);
  using U = uint32_t;
  constexpr Handler handlers[] = {ternary<U, U, U, U, Prmt<-1>>, ternary<U, U, U, U, Prmt<0>>, ternary<U, U, U, U, Prmt<1>>,
                                  ternary<U, U, U, U, Prmt<2>>,  ternary<U, U, U, U, Prmt<3>>, ternary<U, U, U, U, Prmt<4>>,
                                  ternary<U, U, U, U, Prmt<5>>};
  d.emit(type == Type::b32 ? handlers[mode + 1] : nullptr, 4);
}

}  // namespace

const OpcodeTable& field_opcodes() {
  static const OpcodeTable table = {{"bfe", decode_bfe}, {"bfi", decode_bfi}, {"lop3", decode_lop3}, {"prmt", decode_prmt}};
  return table;
}

}  // namespace sheaf::ptx
