// Integer arithmetic except products; and which of the names shared with floats mean floats.
#include "tests/ptx/integer.h"
#include "tests/ptx/of_floats.h"

#include <algorithm>

namespace sheaf::ptx {

namespace {

template <typename T>
struct Sub {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) - Wrap<T>(b)); }
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
Handler signed_unary_of(Type type) {
  switch (type) {
    case Type::s16: return unary<int16_t, int16_t, F<int16_t>>;
    case Type::s32: return unary<int32_t, int32_t, F<int32_t>>;
    case Type::s64: return unary<int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
/// Whether the instruction's type is one of floats: the last modifier.
bool of_floats(Decoding& d) {
  const auto& modifiers = d.statement().modifiers;
  return !modifiers.empty() && is_float(type_of(modifiers.back()));
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
