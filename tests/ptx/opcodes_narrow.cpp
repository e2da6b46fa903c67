// Arithmetic of f16, bf16 and pairs of them. Each result is rounded once: sums and products of two are exact in double (a sum
// of bfloats far apart in size is not, but what it lacks is below the rounding), and fma rounds to odd before.
#include "tests/ptx/decoding.h"
#include "tests/ptx/float_formats.h"
#include "tests/ptx/of_floats.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {

namespace {

struct Half {
  static float wide(uint16_t a) { return half_to_float(a); }
  static uint16_t narrow(double a) { return double_to_half(a); }
};
struct Bfloat {
  static float wide(uint16_t a) { return bfloat_to_float(a); }
  static uint16_t narrow(double a) { return double_to_bfloat(a); }
};

enum Mode : uint8_t { kFtz = 1, kSat = 2, kRelu = 4, kNan = 8 };

template <typename Format, Narrow Operation>
uint16_t compute(uint16_t a, uint16_t b, uint16_t c, uint8_t mode) {
  if (Operation == Narrow::abs) return a & 0x7fff;
  if (Operation == Narrow::neg) return a ^ 0x8000;
  // .ftz of f16: its subnormal numbers; bf16 has no .ftz.
  auto read = [&](uint16_t bits) -> double {
    const float value = Format::wide(bits);
    return (mode & kFtz) && std::fabs(value) < 0x1p-14f ? std::copysign(0.0f, value) : value;
  };
  const double x = read(a), y = read(b), z = read(c);
  double result = 0;
  switch (Operation) {
    case Narrow::add: result = fma_round_to_odd(x, 1, y); break;
    case Narrow::sub: result = fma_round_to_odd(x, 1, -y); break;
    case Narrow::mul: result = x * y; break;
    case Narrow::fma: result = fma_round_to_odd(x, y, z); break;
    case Narrow::min:
    case Narrow::max: {
      const bool greater = Operation == Narrow::max;
      if (x != x || y != y) result = (mode & kNan) || (x != x && y != y) ? NAN : x != x ? y : x;
      else if (x == y) result = std::signbit(x) == greater ? y : x;
      else result = (x > y) == greater ? x : y;
      break;
    }
    default: break;
  }
  uint16_t bits = Format::narrow(result);
  if ((mode & kFtz) && std::fabs(Format::wide(bits)) < 0x1p-14f) bits &= 0x8000;
  if (mode & kSat) bits = Format::narrow(saturate(double(Format::wide(bits))));
  if ((mode & kRelu) && !(Format::wide(bits) >= 0) && !std::isnan(Format::wide(bits))) bits = 0;
  if ((mode & kRelu) && bits == 0x8000) bits = 0;
  return bits;
}

template <typename Format, Narrow Operation, bool Pair>
Step narrow(Warp& warp, const Instruction& in, uint32_t mask) {
  using T = std::conditional_t<Pair, uint32_t, uint16_t>;
  const T* a = warp.at<T>(in.operand[1]);
  const T* b = in.operand[2] == kNone ? a : warp.at<T>(in.operand[2]);
  const T* c = in.operand[3] == kNone ? a : warp.at<T>(in.operand[3]);
  store<T>(warp, in, mask, [&](uint32_t i) {
    auto part = [&](int shift) {
      return compute<Format, Operation>(static_cast<uint16_t>(a[i] >> shift), static_cast<uint16_t>(b[i] >> shift),
                                        static_cast<uint16_t>(c[i] >> shift), in.mode);
    };
    if constexpr (Pair) return part(0) | uint32_t{part(16)} << 16;
    else return part(0);
  });
  return Step::next;
}

template <Narrow Operation>
Handler of_type(Type type) {
  switch (type) {
    case Type::f16: return narrow<Half, Operation, false>;
    case Type::f16x2: return narrow<Half, Operation, true>;
    case Type::bf16: return narrow<Bfloat, Operation, false>;
    case Type::bf16x2: return narrow<Bfloat, Operation, true>;
    default: return nullptr;
  }
}

}  // namespace

void decode_narrow(Decoding& d, Type type, Narrow operation) {
  const Rounding rounding = d.rounding();
  if (rounding != Rounding::none && rounding != Rounding::nearest_even) d.fail("narrow floats round to nearest only");
  const bool half = type == Type::f16 || type == Type::f16x2;
  if (half && d.take("ftz")) d.out.mode |= kFtz;
  if (half && d.take("sat")) d.out.mode |= kSat;
  if (operation == Narrow::fma && d.take("relu")) d.out.mode |= kRelu;
  if ((operation == Narrow::min || operation == Narrow::max) && d.take("NaN")) d.out.mode |= kNan;
  const bool one = operation == Narrow::abs || operation == Narrow::neg;
  const int operands = one ? 1 : operation == Narrow::fma ? 3 : 2;
  // Pairs are registers of 32 bits without a type.
  const Type bits = bytes_of(type) == 4 ? Type::b32 : Type::b16;
  d.destination(0, 0, bytes_of(bits));
  for (int i = 1; i <= operands; ++i) d.source(static_cast<size_t>(i), i, bits);
  constexpr Handler (*handlers[])(Type) = {of_type<Narrow::add>, of_type<Narrow::sub>, of_type<Narrow::mul>,
                                           of_type<Narrow::fma>, of_type<Narrow::min>, of_type<Narrow::max>,
                                           of_type<Narrow::abs>, of_type<Narrow::neg>};
  d.emit(handlers[static_cast<int>(operation)](type), static_cast<size_t>(operands) + 1);
}

}  // namespace sheaf::ptx
