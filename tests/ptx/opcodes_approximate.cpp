// Instructions that GPUs compute with a small error: ex2, lg2, sin, cos, tanh, rsqrt, and .approx forms of div, rcp, sqrt. Here
// they give the number nearest to the true value; the ISA's rules for special values, subnormal ones and ranges hold.
#include "tests/ptx/decoding.h"
#include "tests/ptx/float_formats.h"
#include "tests/ptx/of_floats.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {
namespace {

struct Ex2 {
  double operator()(double a) const { return std::exp2(a); }
};
struct Lg2 {
  double operator()(double a) const { return std::log2(a); }
};
struct Sin {
  double operator()(double a) const { return std::sin(a); }
};
struct Cos {
  double operator()(double a) const { return std::cos(a); }
};
struct Tanh {
  double operator()(double a) const { return std::tanh(a); }
};
struct Rsqrt {
  double operator()(double a) const { return 1 / std::sqrt(a); }
};
struct Sqrt {
  double operator()(double a) const { return std::sqrt(a); }
};
struct Rcp {
  double operator()(double a) const { return 1 / a; }
};

template <typename F, bool Ftz>
struct Single {
  float operator()(float a) const {
    if (Ftz) a = flush(a);
    const auto result = static_cast<float>(F{}(double(a)));
    return canonical(Ftz ? flush(result) : result);
  }
};
template <typename F>
struct OfDouble {
  double operator()(double a) const { return F{}(a); }
};
/// Only the upper 32 bits of operand and result count.
template <typename F>
struct GrossDouble {
  double operator()(double a) const {
    constexpr uint64_t kUpper = ~uint64_t{0} << 32;
    const double upper = std::bit_cast<double>(std::bit_cast<uint64_t>(a) & kUpper);
    const double operand = std::fabs(upper) < 0x1p-1022 ? std::copysign(0.0, upper) : upper;
    const double result = F{}(operand);
    return std::bit_cast<double>(std::bit_cast<uint64_t>(std::fabs(result) < 0x1p-1022 ? std::copysign(0.0, result) : result) &
                                 kUpper);
  }
};
template <typename F>
struct OfHalf {
  uint16_t operator()(uint16_t a) const { return double_to_half(F{}(half_to_float(a))); }
};
template <typename F>
struct OfBfloat {
  uint16_t operator()(uint16_t a) const { return double_to_bfloat(F{}(bfloat_to_float(a))); }
};
template <typename One>
struct Both {
  uint32_t operator()(uint32_t a) const {
    return One{}(static_cast<uint16_t>(a)) | uint32_t{One{}(static_cast<uint16_t>(a >> 16))} << 16;
  }
};

template <typename F, bool Narrow, bool Double>
void decode_approximate(Decoding& d) {
  if (!d.take("approx")) d.fail("'" + d.statement().opcode + "' lacks .approx");
  const bool ftz = d.take("ftz");
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  Handler handler = nullptr;
  if (type == Type::f32) handler = ftz ? unary<float, float, Single<F, true>> : unary<float, float, Single<F, false>>;
  if (Double && type == Type::f64) handler = ftz ? unary<double, double, GrossDouble<F>> : unary<double, double, OfDouble<F>>;
  if (Narrow && type == Type::f16) handler = unary<uint16_t, uint16_t, OfHalf<F>>;
  if (Narrow && type == Type::f16x2) handler = unary<uint32_t, uint32_t, Both<OfHalf<F>>>;
  if (Narrow && type == Type::bf16) handler = unary<uint16_t, uint16_t, OfBfloat<F>>;
  if (Narrow && type == Type::bf16x2) handler = unary<uint32_t, uint32_t, Both<OfBfloat<F>>>;
  d.emit(handler, 2);
}

/// div.approx: a denominator of 2^126 and more gives 0; div.full: the whole range.
template <bool Full, bool Ftz>
struct DivApproximate {
  float operator()(float a, float b) const {
    if (Ftz) a = flush(a), b = flush(b);
    if (!Full && std::fabs(b) > 0x1p126f && std::fabs(b) < INFINITY)
      return std::isfinite(a) ? std::copysign(0.0f, std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f) : canonical(NAN);
    const float result = a / b;
    return canonical(Ftz ? flush(result) : result);
  }
};

}  // namespace

void decode_approximate_div(Decoding& d) {
  const bool full = d.take("full");
  if (!full) d.take("approx");
  const bool ftz = d.take("ftz");
  const Type type = d.type();
  d.destination(0, 0, bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  using T = float;
  d.emit(type != Type::f32 ? nullptr
         : full            ? (ftz ? binary<T, T, T, DivApproximate<true, true>> : binary<T, T, T, DivApproximate<true, false>>)
                : (ftz ? binary<T, T, T, DivApproximate<false, true>> : binary<T, T, T, DivApproximate<false, false>>),
         3);
}
void decode_approximate_sqrt(Decoding& d) { decode_approximate<Sqrt, false, false>(d); }
void decode_approximate_rcp(Decoding& d) { decode_approximate<Rcp, false, true>(d); }

const OpcodeTable& approximate_opcodes() {
  static const OpcodeTable table = {
      {"ex2", decode_approximate<Ex2, true, false>},   {"lg2", decode_approximate<Lg2, false, false>},
      {"sin", decode_approximate<Sin, false, false>},  {"cos", decode_approximate<Cos, false, false>},
      {"tanh", decode_approximate<Tanh, true, false>}, {"rsqrt", decode_approximate<Rsqrt, false, true>},
  };
  return table;
}

}  // namespace sheaf::ptx
