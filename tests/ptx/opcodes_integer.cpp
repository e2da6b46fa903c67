// Integer arithmetic: add, sub, mul, mad, div, rem, abs, neg, min, max, sad, dp4a.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <limits>
#include <type_traits>

namespace sheaf::ptx {

// Those of floats have the same names.
void decode_float_add(Decoding& d);
void decode_float_sub(Decoding& d);
void decode_float_mul(Decoding& d);
void decode_float_fma(Decoding& d);
void decode_float_div(Decoding& d);
void decode_float_abs(Decoding& d);
void decode_float_neg(Decoding& d);
void decode_float_min(Decoding& d);
void decode_float_max(Decoding& d);

namespace {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Arithmetic wraps: it is done on unsigned numbers of at least 32 bits.
template <typename T>
using Wrap = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
struct Add {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) + Wrap<T>(b)); }
};
template <typename T>
struct Sub {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) - Wrap<T>(b)); }
};
template <typename T>
struct MulLow {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) * Wrap<T>(b)); }
};
template <typename T>
struct MulHigh {
  T operator()(T a, T b) const { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T))); }
};
template <typename T>
struct MulWide {
  Wide<T> operator()(T a, T b) const { return Wide<T>(a) * Wide<T>(b); }
};
template <typename T>
struct MadLow {
  T operator()(T a, T b, T c) const { return Add<T>()(MulLow<T>()(a, b), c); }
};
template <typename T>
struct MadHigh {
  T operator()(T a, T b, T c) const { return Add<T>()(MulHigh<T>()(a, b), c); }
};
template <typename T>
struct MadWide {
  Wide<T> operator()(T a, T b, Wide<T> c) const { return Add<Wide<T>>()(MulWide<T>()(a, b), c); }
};
// By zero: the ISA leaves the value open; GPUs give all ones, and the dividend as remainder.
template <typename T>
struct Div {
  T operator()(T a, T b) const {
    if (b == 0) return static_cast<T>(~Unsigned<T>(0));
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return Sub<T>()(0, a);
    return static_cast<T>(a / b);
  }
};
template <typename T>
struct Rem {
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
template <typename T>
struct Min {
  T operator()(T a, T b) const { return a < b ? a : b; }
};
template <typename T>
struct Max {
  T operator()(T a, T b) const { return a > b ? a : b; }
};
template <typename T>
struct Neg {
  T operator()(T a) const { return Sub<T>()(0, a); }
};
template <typename T>
struct Abs {
  T operator()(T a) const { return a < 0 ? Sub<T>()(0, a) : a; }
};
template <typename T>
struct Sad {
  T operator()(T a, T b, T c) const { return Add<T>()(c, a < b ? Sub<T>()(b, a) : Sub<T>()(a, b)); }
};
template <int Sign>
struct AddSaturated {
  int32_t operator()(int32_t a, int32_t b) const {
    const int64_t sum = int64_t{a} + Sign * int64_t{b};
    return static_cast<int32_t>(std::min<int64_t>(std::max<int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
template <typename A, typename B>
struct Dot4 {  // of bytes
  int32_t operator()(int32_t a, int32_t b, int32_t c) const {
    int32_t sum = c;
    for (int i = 0; i < 4; ++i) sum += static_cast<A>(a >> (8 * i)) * static_cast<B>(b >> (8 * i));
    return sum;
  }
};

template <template <typename> typename F>
Handler binary_of(Type type) {
  switch (type) {
    case Type::u16: return binary<uint16_t, uint16_t, uint16_t, F<uint16_t>>;
    case Type::u32: return binary<uint32_t, uint32_t, uint32_t, F<uint32_t>>;
    case Type::u64: return binary<uint64_t, uint64_t, uint64_t, F<uint64_t>>;
    case Type::s16: return binary<int16_t, int16_t, int16_t, F<int16_t>>;
    case Type::s32: return binary<int32_t, int32_t, int32_t, F<int32_t>>;
    case Type::s64: return binary<int64_t, int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
template <template <typename> typename F>
Handler ternary_of(Type type) {
  switch (type) {
    case Type::u16: return ternary<uint16_t, uint16_t, uint16_t, uint16_t, F<uint16_t>>;
    case Type::u32: return ternary<uint32_t, uint32_t, uint32_t, uint32_t, F<uint32_t>>;
    case Type::u64: return ternary<uint64_t, uint64_t, uint64_t, uint64_t, F<uint64_t>>;
    case Type::s16: return ternary<int16_t, int16_t, int16_t, int16_t, F<int16_t>>;
    case Type::s32: return ternary<int32_t, int32_t, int32_t, int32_t, F<int32_t>>;
    case Type::s64: return ternary<int64_t, int64_t, int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
template <template <typename> typename F>
Handler signed_unary_of(Type type) {
  switch (type) {
    case Type::s16: return unary<int16_t, int16_t, F<int16_t>>;
    case Type::s32: return unary<int32_t, int32_t, F<int32_t>>;
    case Type::s64: return unary<int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
Handler wide_product(Type type) {
  switch (type) {
    case Type::u16: return binary<uint32_t, uint16_t, uint16_t, MulWide<uint16_t>>;
    case Type::s16: return binary<int32_t, int16_t, int16_t, MulWide<int16_t>>;
    case Type::u32: return binary<uint64_t, uint32_t, uint32_t, MulWide<uint32_t>>;
    case Type::s32: return binary<int64_t, int32_t, int32_t, MulWide<int32_t>>;
    default: return nullptr;
  }
}
Handler wide_product_sum(Type type) {
  switch (type) {
    case Type::u16: return ternary<uint32_t, uint16_t, uint16_t, uint32_t, MadWide<uint16_t>>;
    case Type::s16: return ternary<int32_t, int16_t, int16_t, int32_t, MadWide<int16_t>>;
    case Type::u32: return ternary<uint64_t, uint32_t, uint32_t, uint64_t, MadWide<uint32_t>>;
    case Type::s32: return ternary<int64_t, int32_t, int32_t, int64_t, MadWide<int32_t>>;
    default: return nullptr;
  }
}

/// Whether the instruction's type is one of floats: the last modifier.
bool of_floats(Decoding& d) {
  const auto& modifiers = d.statement().modifiers;
  return !modifiers.empty() && is_float(type_of(modifiers.back()));
}

Type wider(Type type) {
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
  }
}

template <template <typename> typename F>
void decode_binary(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(binary_of<F>(type), 3);
}

template <template <typename> typename F, int Sign>
void decode_sum(Decoding& d) {
  if (!d.take("sat")) return decode_binary<F>(d);
  const Type type = d.type();
  d.destination(0, 0, 4);
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(type == Type::s32 ? binary<int32_t, int32_t, int32_t, AddSaturated<Sign>> : nullptr, 3);
}

void decode_product(Decoding& d) {
  const int part = d.one_of({"lo", "hi", "wide"});
  const Type type = d.type();
  d.destination(0, 0, part == 2 ? bytes_of(type) * 2 : bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(part == 0 ? binary_of<MulLow>(type) : part == 1 ? binary_of<MulHigh>(type) : part == 2 ? wide_product(type) : nullptr, 3);
}

void decode_product_sum(Decoding& d) {
  const int part = d.one_of({"lo", "hi", "wide"});
  const Type type = d.type();
  d.destination(0, 0, part == 2 ? bytes_of(type) * 2 : bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.source(3, 3, part == 2 ? wider(type) : type);
  d.emit(part == 0   ? ternary_of<MadLow>(type)
         : part == 1 ? ternary_of<MadHigh>(type)
         : part == 2 ? wide_product_sum(type)
                     : nullptr,
         4);
}

void decode_sad(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  for (int i = 1; i < 4; ++i) d.source(static_cast<size_t>(i), i, type);
  d.emit(ternary_of<Sad>(type), 4);
}

void decode_dot4(Decoding& d) {
  const Type a = d.type(), b = d.type();
  d.destination(0, 0, 4);
  for (int i = 1; i < 4; ++i) d.source(static_cast<size_t>(i), i, Type::b32);
  const bool sa = a == Type::s32, sb = b == Type::s32;
  const Handler handlers[] = {ternary<int32_t, int32_t, int32_t, int32_t, Dot4<uint8_t, uint8_t>>,
                              ternary<int32_t, int32_t, int32_t, int32_t, Dot4<uint8_t, int8_t>>,
                              ternary<int32_t, int32_t, int32_t, int32_t, Dot4<int8_t, uint8_t>>,
                              ternary<int32_t, int32_t, int32_t, int32_t, Dot4<int8_t, int8_t>>};
  d.emit(bytes_of(a) == 4 && bytes_of(b) == 4 ? handlers[2 * sa + sb] : nullptr, 4);
}

template <template <typename> typename F>
void decode_signed_unary(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.emit(signed_unary_of<F>(type), 2);
}

}  // namespace

const OpcodeTable& integer_opcodes() {
  static const OpcodeTable table = {
      {"add", [](Decoding& d) { of_floats(d) ? decode_float_add(d) : decode_sum<Add, 1>(d); }},
      {"sub", [](Decoding& d) { of_floats(d) ? decode_float_sub(d) : decode_sum<Sub, -1>(d); }},
      {"mul", [](Decoding& d) { of_floats(d) ? decode_float_mul(d) : decode_product(d); }},
      {"mad", [](Decoding& d) { of_floats(d) ? decode_float_fma(d) : decode_product_sum(d); }},
      {"div", [](Decoding& d) { of_floats(d) ? decode_float_div(d) : decode_binary<Div>(d); }},
      {"rem", decode_binary<Rem>},
      {"abs", [](Decoding& d) { of_floats(d) ? decode_float_abs(d) : decode_signed_unary<Abs>(d); }},
      {"neg", [](Decoding& d) { of_floats(d) ? decode_float_neg(d) : decode_signed_unary<Neg>(d); }},
      {"min", [](Decoding& d) { of_floats(d) ? decode_float_min(d) : decode_binary<Min>(d); }},
      {"max", [](Decoding& d) { of_floats(d) ? decode_float_max(d) : decode_binary<Max>(d); }},
      {"sad", decode_sad},
      {"dp4a", decode_dot4},
  };
  return table;
}

}  // namespace sheaf::ptx
