// Arithmetic of f32 and f64: add, sub, mul, fma, div, sqrt, rcp, abs, neg, min, max, copysign, testp. Exactly
// rounded.
#include "tests/ptx/decoding.h"
#include "tests/ptx/float_formats.h"
#include "tests/ptx/of_floats.h"
#include "tests/ptx/warp.h"

#include <cfenv>

namespace sheaf::ptx {

namespace {

struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Sub {
  template <typename T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct Mul {
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct Div {
  template <typename T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct Fma {
  template <typename T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
struct Sqrt {
  template <typename T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Rcp {
  template <typename T>
  T operator()(T a) const {
    return T(1) / a;
  }
};

template <bool Ftz, typename T>
T flushed(T value) {
  if constexpr (Ftz && sizeof(T) == 4) return flush(value);
  return value;
}

/// F with its inputs and result flushed, saturated, made canonical.
template <typename F, bool Ftz, bool Sat>
struct Rounded {
  template <typename... T>
  auto operator()(T... a) const {
    auto result = flushed<Ftz>(F{}(flushed<Ftz>(a)...));
    return Sat ? saturate(result) : canonical(result);
  }
};

/// The same in another direction than to nearest. The values pass through memory that the compiler must not look
/// through, between the changes of the mode.
template <typename F, typename T, int Operands>
Step directed(Warp& warp, const Instruction& in, uint32_t mask) {
  const int modes[] = {FE_TONEAREST, FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
  const bool ftz = in.immediate & 1, sat = in.immediate & 2;
  std::fesetround(modes[in.mode]);
  store<T>(warp, in, mask, [&](uint32_t i) {
    volatile T operand[3] = {};
    for (size_t k = 0; k < Operands; ++k) {
      const T value = warp.at<T>(in.operand[k + 1])[i];
      operand[k] = ftz ? flushed<true>(value) : value;
    }
    volatile T result;
    if constexpr (Operands == 1) result = F{}(T(operand[0]));
    if constexpr (Operands == 2) result = F{}(T(operand[0]), T(operand[1]));
    if constexpr (Operands == 3) result = F{}(T(operand[0]), T(operand[1]), T(operand[2]));
    const T value = ftz ? flushed<true>(T(result)) : T(result);
    return sat ? saturate(value) : canonical(value);
  });
  std::fesetround(FE_TONEAREST);
  return Step::next;
}

template <typename F, typename T, int Operands, bool Ftz, bool Sat>
constexpr Handler nearest() {
  using R = Rounded<F, Ftz, Sat>;
  if constexpr (Operands == 1) return unary<T, T, R>;
  if constexpr (Operands == 2) return binary<T, T, T, R>;
  if constexpr (Operands == 3) return ternary<T, T, T, T, R>;
}

template <typename F, int Operands>
void decode_rounded(Decoding& d) {
  const Rounding rounding = d.rounding();
  const bool ftz = d.take("ftz"), sat = d.take("sat");
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  for (int i = 1; i <= Operands; ++i) d.source(static_cast<size_t>(i), i, type);
  Handler handler = nullptr;
  const bool to_nearest = rounding == Rounding::none || rounding == Rounding::nearest_even;
  d.out.mode = static_cast<uint8_t>(rounding);
  d.out.immediate = ftz + 2 * sat;
  if (type == Type::f32) {
    constexpr Handler handlers[] = {nearest<F, float, Operands, false, false>(), nearest<F, float, Operands, true, false>(),
                                    nearest<F, float, Operands, false, true>(), nearest<F, float, Operands, true, true>()};
    handler = to_nearest ? handlers[ftz + 2 * sat] : directed<F, float, Operands>;
  } else if (type == Type::f64 && !ftz && !sat) {
    handler = to_nearest ? nearest<F, double, Operands, false, false>() : directed<F, double, Operands>;
  }
  d.emit(handler, Operands + 1);
}

/// The only decoding of names that narrow types have as well.
template <Narrow Operation, typename Decode>
void of_width(Decoding& d, Decode decode) {
  const Type type = type_of(d.statement().modifiers.back());
  if (type == Type::f32 || type == Type::f64) return decode(d);
  decode_narrow(d, d.type(), Operation);
}

// Of two zeros, −0 is the smaller one.
template <bool Greater, bool Ftz, bool PropagateNan>
struct Extreme {
  template <typename T>
  T operator()(T a, T b) const {
    a = flushed<Ftz>(a);
    b = flushed<Ftz>(b);
    if (a != a || b != b) {
      if (PropagateNan || (a != a && b != b)) return canonical(a + b);
      return a != a ? b : a;
    }
    if (a == b) return std::signbit(a) == Greater ? b : a;
    return (a > b) == Greater ? a : b;
  }
};
template <bool Greater>
void decode_extreme(Decoding& d) {
  const bool ftz = d.take("ftz"), nan = d.take("NaN");
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  Handler handler = nullptr;
  if (type == Type::f32) {
    using T = float;
    handler = ftz ? (nan ? binary<T, T, T, Extreme<Greater, true, true>> : binary<T, T, T, Extreme<Greater, true, false>>)
                  : (nan ? binary<T, T, T, Extreme<Greater, false, true>> : binary<T, T, T, Extreme<Greater, false, false>>);
  } else if (type == Type::f64 && !ftz && !nan) {
    handler = binary<double, double, double, Extreme<Greater, false, false>>;
  }
  d.emit(handler, 3);
}

template <bool Ftz>
struct Abs {
  template <typename T>
  T operator()(T a) const {
    return std::fabs(flushed<Ftz>(a));
  }
};
template <bool Ftz>
struct Neg {
  template <typename T>
  T operator()(T a) const {
    return -flushed<Ftz>(a);
  }
};
template <template <bool> typename F>
void decode_sign(Decoding& d) {
  const bool ftz = d.take("ftz");
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.emit(type == Type::f32           ? (ftz ? unary<float, float, F<true>> : unary<float, float, F<false>>)
         : type == Type::f64 && !ftz ? unary<double, double, F<false>>
                                     : nullptr,
         2);
}

struct CopySign {  // a's sign, b's magnitude
  template <typename T>
  T operator()(T a, T b) const {
    return std::copysign(b, a);
  }
};
void decode_copysign(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(type == Type::f32   ? binary<float, float, float, CopySign>
         : type == Type::f64 ? binary<double, double, double, CopySign>
                             : nullptr,
         3);
}

template <typename T>
Step testp(Warp& warp, const Instruction& in, uint32_t mask) {
  const T* a = warp.at<T>(in.operand[1]);
  uint32_t result = 0;
  each(mask, [&](uint32_t i) {
    const int kind = std::fpclassify(a[i]);
    const bool is[] = {kind != FP_NAN && kind != FP_INFINITE,
                       kind == FP_INFINITE,
                       kind != FP_NAN,
                       kind == FP_NAN,
                       kind == FP_NORMAL,
                       kind == FP_SUBNORMAL};
    result |= uint32_t{is[in.mode]} << i;
  });
  set_predicate(warp, in.operand[0], mask, result);
  return Step::next;
}
void decode_testp(Decoding& d) {
  const int kind = d.one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type type = d.type();
  d.out.mode = static_cast<uint8_t>(kind);
  d.destination(0, 0, 0);
  d.source(1, 1, type);
  d.emit(kind < 0 ? nullptr : type == Type::f32 ? testp<float> : type == Type::f64 ? testp<double> : nullptr, 2);
}

}  // namespace

void decode_float_add(Decoding& d) { of_width<Narrow::add>(d, decode_rounded<Add, 2>); }
void decode_float_sub(Decoding& d) { of_width<Narrow::sub>(d, decode_rounded<Sub, 2>); }
void decode_float_mul(Decoding& d) { of_width<Narrow::mul>(d, decode_rounded<Mul, 2>); }
void decode_float_fma(Decoding& d) { of_width<Narrow::fma>(d, decode_rounded<Fma, 3>); }
void decode_float_abs(Decoding& d) { of_width<Narrow::abs>(d, decode_sign<Abs>); }
void decode_float_neg(Decoding& d) { of_width<Narrow::neg>(d, decode_sign<Neg>); }
void decode_float_min(Decoding& d) { of_width<Narrow::min>(d, decode_extreme<false>); }
void decode_float_max(Decoding& d) { of_width<Narrow::max>(d, decode_extreme<true>); }

namespace {

/// Whether one of the modifiers, not yet taken, is `name`.
bool has(Decoding& d, std::string_view name) {
  for (const std::string& modifier : d.statement().modifiers)
    if (modifier == name) return true;
  return false;
}

}  // namespace

void decode_float_div(Decoding& d) {
  if (has(d, "approx") || has(d, "full")) return decode_approximate_div(d);
  decode_rounded<Div, 2>(d);
}

const OpcodeTable& float_opcodes() {
  static const OpcodeTable table = {
      {"fma", decode_float_fma},
      {"copysign", decode_copysign},
      {"testp", decode_testp},
      {"sqrt", [](Decoding& d) { has(d, "approx") ? decode_approximate_sqrt(d) : decode_rounded<Sqrt, 1>(d); }},
      {"rcp", [](Decoding& d) { has(d, "approx") ? decode_approximate_rcp(d) : decode_rounded<Rcp, 1>(d); }},
  };
  return table;
}

}  // namespace sheaf::ptx
