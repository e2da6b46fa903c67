// setp, set, selp, slct.
#include "tests/ptx/decoding.h"
#include "tests/ptx/float_formats.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {
namespace {

enum class Relation { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan };
enum Combination : uint8_t { plain, with_and, with_or, with_xor };

template <Relation R, typename T>
bool holds(T a, T b) {
  const bool unordered = a != a || b != b;
  switch (R) {
    case Relation::eq: return a == b;
    case Relation::ne: return !unordered && a != b;
    case Relation::lt: return a < b;
    case Relation::le: return a <= b;
    case Relation::gt: return a > b;
    case Relation::ge: return a >= b;
    case Relation::equ: return unordered || a == b;
    case Relation::neu: return a != b;
    case Relation::ltu: return !(a >= b);
    case Relation::leu: return !(a > b);
    case Relation::gtu: return !(a <= b);
    case Relation::geu: return !(a < b);
    case Relation::num: return !unordered;
    case Relation::nan: return unordered;
  }
}

// How an element's bits are read.
template <typename T>
struct Plain {
  using Element = T;
  static T read(T bits) { return bits; }
};
struct Flushed {
  using Element = float;
  static float read(float value) { return flush(value); }
};
struct HalfElement {
  using Element = uint16_t;
  static float read(uint16_t bits) { return half_to_float(bits); }
};
struct BfloatElement {
  using Element = uint16_t;
  static float read(uint16_t bits) { return bfloat_to_float(bits); }
};

template <typename E, Relation R>
uint32_t compare(Warp& warp, const Instruction& in, uint32_t mask) {
  using T = typename E::Element;
  const T *a = warp.at<T>(in.operand[2]), *b = warp.at<T>(in.operand[3]);
  uint32_t result = 0;
  if (mask == ~0u) {
    uint8_t bits[kWarpSize];
    for (uint32_t i = 0; i < kWarpSize; ++i) bits[i] = holds<R>(E::read(a[i]), E::read(b[i]));
    for (uint32_t i = 0; i < kWarpSize; ++i) result |= uint32_t{bits[i]} << i;
  } else {
    each(mask, [&](uint32_t i) { result |= uint32_t{holds<R>(E::read(a[i]), E::read(b[i]))} << i; });
  }
  return result;
}

uint32_t combine(Warp& warp, const Instruction& in, uint32_t value) {
  if (in.mode == plain) return value;
  const uint32_t other = warp.predicate(in.operand[4]);
  return in.mode == with_and ? value & other : in.mode == with_or ? value | other : value ^ other;
}

template <typename E, Relation R>
Step setp(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t value = compare<E, R>(warp, in, mask);
  const uint32_t p = combine(warp, in, value), q = combine(warp, in, ~value);
  set_predicate(warp, in.operand[0], mask, p);
  set_predicate(warp, in.operand[1], mask, q);
  return Step::next;
}
/// All ones, or 1.0 (`immediate`), where it holds.
template <typename E, Relation R>
Step set(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t value = combine(warp, in, compare<E, R>(warp, in, mask));
  const auto one = static_cast<uint32_t>(in.immediate);
  store<uint32_t>(warp, in, mask, [&](uint32_t i) { return value >> i & 1 ? one : 0; });
  return Step::next;
}

template <typename E>
Handler of_relation(Relation relation, bool predicate) {
#define SHEAF_RELATION(R) \
  case Relation::R: return predicate ? setp<E, Relation::R> : set<E, Relation::R>
  switch (relation) {
    SHEAF_RELATION(eq);
    SHEAF_RELATION(ne);
    SHEAF_RELATION(lt);
    SHEAF_RELATION(le);
    SHEAF_RELATION(gt);
    SHEAF_RELATION(ge);
    SHEAF_RELATION(equ);
    SHEAF_RELATION(neu);
    SHEAF_RELATION(ltu);
    SHEAF_RELATION(leu);
    SHEAF_RELATION(gtu);
    SHEAF_RELATION(geu);
    SHEAF_RELATION(num);
    SHEAF_RELATION(nan);
  }
#undef SHEAF_RELATION
  return nullptr;
}

Handler comparison(Type type, Relation relation, bool ftz, bool predicate) {
  if (ftz) return type == Type::f32 ? of_relation<Flushed>(relation, predicate) : nullptr;
  if (!is_float(type) && relation > Relation::ge) return nullptr;
  switch (type) {
    case Type::b16:
    case Type::u16: return of_relation<Plain<uint16_t>>(relation, predicate);
    case Type::b32:
    case Type::u32: return of_relation<Plain<uint32_t>>(relation, predicate);
    case Type::b64:
    case Type::u64: return of_relation<Plain<uint64_t>>(relation, predicate);
    case Type::s16: return of_relation<Plain<int16_t>>(relation, predicate);
    case Type::s32: return of_relation<Plain<int32_t>>(relation, predicate);
    case Type::s64: return of_relation<Plain<int64_t>>(relation, predicate);
    case Type::f32: return of_relation<Plain<float>>(relation, predicate);
    case Type::f64: return of_relation<Plain<double>>(relation, predicate);
    case Type::f16: return of_relation<HalfElement>(relation, predicate);
    case Type::bf16: return of_relation<BfloatElement>(relation, predicate);
    default: return nullptr;
  }
}

std::optional<Relation> take_relation(Decoding& d) {
  const int relation = d.one_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (relation >= 0) return static_cast<Relation>(relation);
  const int of_unsigned = d.one_of({"lo", "ls", "hi", "hs"});  // names of lt, le, gt, ge
  if (of_unsigned < 0) return std::nullopt;
  constexpr Relation relations[] = {Relation::lt, Relation::le, Relation::gt, Relation::ge};
  return relations[of_unsigned];
}

void take_combination(Decoding& d, size_t operand) {
  const int combination = d.one_of({"and", "or", "xor"});
  d.out.mode = static_cast<uint8_t>(combination + 1);
  if (combination >= 0) d.source(operand, 4, Type::pred);
}

void decode_setp(Decoding& d) {
  const auto relation = take_relation(d);
  if (!relation) return d.fail("'setp' lacks its comparison");
  take_combination(d, 3);
  const bool ftz = d.take("ftz");
  const Type type = d.type();
  d.destination_pair(0, 0, 0, 1);
  d.source(1, 2, type);
  d.source(2, 3, type);
  d.emit(comparison(type, *relation, ftz, true), d.out.mode == plain ? 3 : 4);
}

void decode_set(Decoding& d) {
  const auto relation = take_relation(d);
  if (!relation) return d.fail("'set' lacks its comparison");
  take_combination(d, 3);
  const bool ftz = d.take("ftz");
  const Type result = d.type(), type = d.type();
  d.out.immediate = result == Type::f32 ? std::bit_cast<uint32_t>(1.0f) : ~0u;
  if (result != Type::f32 && result != Type::u32 && result != Type::s32)
    d.fail("'set' of this type is not known to the emulator");
  d.destination(0, 0, 4);
  d.source(1, 2, type);
  d.source(2, 3, type);
  d.emit(comparison(type, *relation, ftz, false), d.out.mode == plain ? 3 : 4);
}

template <typename T>
Step selp(Warp& warp, const Instruction& in, uint32_t mask) {
  const T *a = warp.at<T>(in.operand[1]), *b = warp.at<T>(in.operand[2]);
  const uint32_t choice = warp.predicate(in.operand[3]);
  store<T>(warp, in, mask, [&](uint32_t i) { return choice >> i & 1 ? a[i] : b[i]; });
  return Step::next;
}
void decode_selp(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.source(3, 3, Type::pred);
  const int bytes = bytes_of(type);
  d.emit(bytes == 2 ? selp<uint16_t> : bytes == 4 ? selp<uint32_t> : bytes == 8 ? selp<uint64_t> : nullptr, 4);
}

template <typename T, typename C>
Step slct(Warp& warp, const Instruction& in, uint32_t mask) {
  const T *a = warp.at<T>(in.operand[1]), *b = warp.at<T>(in.operand[2]);
  const C* c = warp.at<C>(in.operand[3]);
  const bool ftz = in.mode;
  store<T>(warp, in, mask,
           [&](uint32_t i) { return (std::is_same_v<C, float> && ftz ? flush(float(c[i])) >= 0 : c[i] >= 0) ? a[i] : b[i]; });
  return Step::next;
}
void decode_slct(Decoding& d) {
  d.out.mode = d.take("ftz");
  const Type type = d.type(), by = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.source(3, 3, by);
  Handler handler = nullptr;
  if (by == Type::s32)
    handler = bytes_of(type) == 4 ? slct<uint32_t, int32_t> : bytes_of(type) == 8 ? slct<uint64_t, int32_t> : nullptr;
  if (by == Type::f32)
    handler = bytes_of(type) == 4 ? slct<uint32_t, float> : bytes_of(type) == 8 ? slct<uint64_t, float> : nullptr;
  d.emit(handler, 4);
}

}  // namespace

const OpcodeTable& compare_opcodes() {
  static const OpcodeTable table = {{"setp", decode_setp}, {"set", decode_set}, {"selp", decode_selp}, {"slct", decode_slct}};
  return table;
}

}  // namespace sheaf::ptx
