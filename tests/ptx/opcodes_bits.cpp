// Logic, shifts and counts of bits.
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
  d.emit(type == Type::b16                                     ? unary<uint16_t, uint16_t, F<uint16_t>>
         : type == Type::b32                                   ? unary<uint32_t, uint32_t, F<uint32_t>>
         : type == Type::b64                                   ? unary<uint64_t, uint64_t, F<uint64_t>>
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
    case Type::b16:
    case Type::u16: handler = binary<uint16_t, uint16_t, uint32_t, F<uint16_t>>; break;
    case Type::b32:
    case Type::u32: handler = binary<uint32_t, uint32_t, uint32_t, F<uint32_t>>; break;
    case Type::b64:
    case Type::u64: handler = binary<uint64_t, uint64_t, uint32_t, F<uint64_t>>; break;
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
    case Type::u32:
      handler = amount ? unary<uint32_t, uint32_t, Bfind<uint32_t, true>> : unary<uint32_t, uint32_t, Bfind<uint32_t, false>>;
      break;
    case Type::s32:
      handler = amount ? unary<uint32_t, int32_t, Bfind<int32_t, true>> : unary<uint32_t, int32_t, Bfind<int32_t, false>>;
      break;
    case Type::u64:
      handler = amount ? unary<uint32_t, uint64_t, Bfind<uint64_t, true>> : unary<uint32_t, uint64_t, Bfind<uint64_t, false>>;
      break;
    case Type::s64:
      handler = amount ? unary<uint32_t, int64_t, Bfind<int64_t, true>> : unary<uint32_t, int64_t, Bfind<int64_t, false>>;
      break;
    default: break;
  }
  d.emit(handler, 2);
}
void decode_brev(Decoding& d) { decode_not<Brev>(d); }

}  // namespace

const OpcodeTable& bit_opcodes() {
  static const OpcodeTable table = {
      {"and", decode_logic<And>},       {"or", decode_logic<Or>},   {"xor", decode_logic<Xor>}, {"not", decode_not<Not>},
      {"cnot", decode_not<LogicalNot>}, {"shl", decode_shift<Shl>}, {"shr", decode_shift<Shr>}, {"shf", decode_funnel},
      {"popc", decode_count<Popc>},     {"clz", decode_count<Clz>}, {"brev", decode_brev},      {"bfind", decode_bfind},
  };
  return table;
}

}  // namespace sheaf::ptx
