// Logic, shifts and bit fields.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <algorithm>
#include <bit>

namespace sheaf::ptx {
namespace {

template <typename T>
struct And {
  T operator()(T a, T b) const { return a & b; }
};
template <typename T>
struct Or {
  T operator()(T a, T b) const { return a | b; }
};
template <typename T>
struct Xor {
  T operator()(T a, T b) const { return a ^ b; }
};
template <typename T>
struct Not {
  T operator()(T a) const { return static_cast<T>(~a); }
};
template <typename T>
struct LogicalNot {
  T operator()(T a) const { return a == 0; }
};
// Amounts beyond the size count as the size.
template <typename T>
struct Shl {
  T operator()(T a, uint32_t n) const { return n < 8 * sizeof(T) ? static_cast<T>(a << n) : 0; }
};
template <typename T>
struct Shr {
  T operator()(T a, uint32_t n) const {
    const uint32_t last = 8 * sizeof(T) - 1;
    if (std::is_signed_v<T>) return static_cast<T>(a >> std::min(n, last));
    return n <= last ? static_cast<T>(a >> n) : 0;
  }
};
struct FunnelLeft {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const {
    return n == 0 ? b : n == 32 ? a : (b << n) | (a >> (32 - n));
  }
};
struct FunnelRight {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const {
    return n == 0 ? a : n == 32 ? b : (b << (32 - n)) | (a >> n);
  }
};
template <typename F>
struct Clamped {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return F{}(a, b, std::min(n, 32u)); }
};
template <typename F>
struct Wrapped {
  uint32_t operator()(uint32_t a, uint32_t b, uint32_t n) const { return F{}(a, b, n & 31); }
};
template <typename T>
struct Popc {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::popcount(a)); }
};
template <typename T>
struct Clz {
  uint32_t operator()(T a) const { return static_cast<uint32_t>(std::countl_zero(a)); }
};
template <typename T>
struct Brev {
  T operator()(T a) const {
    T reversed = 0;
    for (size_t i = 0; i < 8 * sizeof(T); ++i) reversed |= static_cast<T>((a >> i & 1) << (8 * sizeof(T) - 1 - i));
    return reversed;
  }
};
template <typename T, bool Amount>
struct Bfind {
  uint32_t operator()(T a) const {
    auto bits = static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a);
    if (bits == 0) return ~0u;
    const auto zeros = static_cast<uint32_t>(std::countl_zero(bits));
    return Amount ? zeros : static_cast<uint32_t>(8 * sizeof(T) - 1) - zeros;
  }
};
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

// A predicate is a word of the warp.
template <template <typename> typename F>
Step predicate_logic(Warp& warp, const Instruction& in, uint32_t mask) {
  set_predicate(warp, in.operand[0], mask, F<uint32_t>{}(warp.predicate(in.operand[1]), warp.predicate(in.operand[2])));
  return Step::next;
}
Step predicate_not(Warp& warp, const Instruction& in, uint32_t mask) {
  set_predicate(warp, in.operand[0], mask, ~warp.predicate(in.operand[1]));
  return Step::next;
}

template <template <typename> typename F>
void decode_logic(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(type == Type::pred  ? predicate_logic<F>
         : type == Type::b16 ? binary<uint16_t, uint16_t, uint16_t, F<uint16_t>>
         : type == Type::b32 ? binary<uint32_t, uint32_t, uint32_t, F<uint32_t>>
         : type == Type::b64 ? binary<uint64_t, uint64_t, uint64_t, F<uint64_t>>
                             : nullptr,
         3);
}
template <template <typename> typename F>
void decode_not(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.emit(type == Type::b16   ? unary<uint16_t, uint16_t, F<uint16_t>>
         : type == Type::b32 ? unary<uint32_t, uint32_t, F<uint32_t>>
         : type == Type::b64 ? unary<uint64_t, uint64_t, F<uint64_t>>
         : type == Type::pred && d.statement().opcode == "not" ? predicate_not
                                                               : nullptr,
         2);
}
template <template <typename> typename F>
void decode_shift(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, Type::u32);
  Handler handler = nullptr;
  switch (type) {
    case Type::b16: case Type::u16: handler = binary<uint16_t, uint16_t, uint32_t, F<uint16_t>>; break;
    case Type::b32: case Type::u32: handler = binary<uint32_t, uint32_t, uint32_t, F<uint32_t>>; break;
    case Type::b64: case Type::u64: handler = binary<uint64_t, uint64_t, uint32_t, F<uint64_t>>; break;
    case Type::s16: handler = binary<int16_t, int16_t, uint32_t, F<int16_t>>; break;
    case Type::s32: handler = binary<int32_t, int32_t, uint32_t, F<int32_t>>; break;
    case Type::s64: handler = binary<int64_t, int64_t, uint32_t, F<int64_t>>; break;
    default: break;
  }
  d.emit(handler, 3);
}
void decode_funnel(Decoding& d) {
  const bool left = d.take("l");
  if (!left && !d.take("r")) d.fail("'shf' lacks its direction");
  const int mode = d.one_of({"clamp", "wrap"});
  const Type type = d.type();
  d.destination(0, 0, 4);
  for (int i = 1; i < 4; ++i) d.source(static_cast<size_t>(i), i, Type::b32);
  using U = uint32_t;
  d.emit(type != Type::b32 || mode < 0 ? nullptr
         : left ? (mode ? ternary<U, U, U, U, Wrapped<FunnelLeft>> : ternary<U, U, U, U, Clamped<FunnelLeft>>)
                : (mode ? ternary<U, U, U, U, Wrapped<FunnelRight>> : ternary<U, U, U, U, Clamped<FunnelRight>>),
         4);
}
template <template <typename> typename F>
void decode_count(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, 4);
  d.source(1, 1, type);
  d.emit(type == Type::b32   ? unary<uint32_t, uint32_t, F<uint32_t>>
         : type == Type::b64 ? unary<uint32_t, uint64_t, F<uint64_t>>
                             : nullptr,
         2);
}
void decode_bfind(Decoding& d) {
  const bool amount = d.take("shiftamt");
  const Type type = d.type();
  d.destination(0, 0, 4);
  d.source(1, 1, type);
  Handler handler = nullptr;
  switch (type) {
    case Type::u32: handler = amount ? unary<uint32_t, uint32_t, Bfind<uint32_t, true>> : unary<uint32_t, uint32_t, Bfind<uint32_t, false>>; break;
    case Type::s32: handler = amount ? unary<uint32_t, int32_t, Bfind<int32_t, true>> : unary<uint32_t, int32_t, Bfind<int32_t, false>>; break;
    case Type::u64: handler = amount ? unary<uint32_t, uint64_t, Bfind<uint64_t, true>> : unary<uint32_t, uint64_t, Bfind<uint64_t, false>>; break;
    case Type::s64: handler = amount ? unary<uint32_t, int64_t, Bfind<int64_t, true>> : unary<uint32_t, int64_t, Bfind<int64_t, false>>; break;
    default: break;
  }
  d.emit(handler, 2);
}
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

void decode_brev(Decoding& d) {
  decode_not<Brev>(d);
}

}  // namespace

const OpcodeTable& bit_opcodes() {
  static const OpcodeTable table = {
      {"and", decode_logic<And>}, {"or", decode_logic<Or>},         {"xor", decode_logic<Xor>},  {"not", decode_not<Not>},
      {"cnot", decode_not<LogicalNot>}, {"shl", decode_shift<Shl>}, {"shr", decode_shift<Shr>},  {"shf", decode_funnel},
      {"popc", decode_count<Popc>},     {"clz", decode_count<Clz>}, {"brev", decode_brev},       {"bfind", decode_bfind},
      {"bfe", decode_bfe},              {"bfi", decode_bfi},        {"lop3", decode_lop3},       {"prmt", decode_prmt},
  };
  return table;
}

}  // namespace sheaf::ptx
