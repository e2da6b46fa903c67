// cvt: between integers and floats of all sizes.
#include "tests/ptx/conversion.h"
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

namespace sheaf::ptx {
namespace {

uint64_t load(Warp& warp, uint32_t place, int bytes, uint32_t lane) {
  return bytes == 2   ? warp.at<uint16_t>(place)[lane]
         : bytes == 4 ? warp.at<uint32_t>(place)[lane]
                      : warp.at<uint64_t>(place)[lane];
}

/// Any: mode has the registers' bytes, the result's in the low 4 bits.
Step convert_any(Warp& warp, const Instruction& in, uint32_t mask) {
  const Conversion c = Conversion::unpack(in.immediate);
  const int to = in.mode & 15, from = in.mode >> 4;
  each(mask, [&](uint32_t i) {
    const uint64_t result = convert(load(warp, in.operand[1], from, i), c);
    if (to == 2) warp.at<uint16_t>(in.operand[0])[i] = static_cast<uint16_t>(result);
    else if (to == 4) warp.at<uint32_t>(in.operand[0])[i] = static_cast<uint32_t>(result);
    else warp.at<uint64_t>(in.operand[0])[i] = result;
  });
  return Step::next;
}

/// Two floats to a pair: the first operand becomes the upper half.
Step convert_pair(Warp& warp, const Instruction& in, uint32_t mask) {
  const Conversion c = Conversion::unpack(in.immediate);
  const uint32_t *a = warp.at<uint32_t>(in.operand[1]), *b = warp.at<uint32_t>(in.operand[2]);
  store<uint32_t>(warp, in, mask, [&](uint32_t i) { return static_cast<uint32_t>(convert(a[i], c) << 16 | convert(b[i], c)); });
  return Step::next;
}

// The frequent ones.
template <typename To, typename From>
struct Cast {
  To operator()(From a) const { return static_cast<To>(a); }
};
struct NarrowToBfloat {
  uint16_t operator()(float a) const { return float_to_bfloat(a); }
};
struct WidenHalf {
  float operator()(uint16_t a) const { return half_to_float(a); }
};
struct WidenBfloat {
  float operator()(uint16_t a) const { return canonical(bfloat_to_float(a)); }
};
struct Truncate {
  int32_t operator()(float a) const {
    if (a != a) return 0;
    return a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : static_cast<int32_t>(a);
  }
};

Handler fast_form(const Conversion& c, int to_bytes, int from_bytes) {
  if (to_bytes != bytes_of(c.to) || from_bytes != bytes_of(c.from) || c.ftz || c.sat || c.relu || c.satfinite) return nullptr;
  auto is = [&](Type to, Type from) { return c.to == to && c.from == from; };
  const bool nearest = c.rounding == Rounding::nearest_even;
  if (is(Type::u64, Type::u32)) return unary<uint64_t, uint32_t, Cast<uint64_t, uint32_t>>;
  if (is(Type::s64, Type::s32)) return unary<int64_t, int32_t, Cast<int64_t, int32_t>>;
  if (is(Type::u32, Type::u64)) return unary<uint32_t, uint64_t, Cast<uint32_t, uint64_t>>;
  if (is(Type::u32, Type::u16)) return unary<uint32_t, uint16_t, Cast<uint32_t, uint16_t>>;
  if (is(Type::u16, Type::u32)) return unary<uint16_t, uint32_t, Cast<uint16_t, uint32_t>>;
  if (nearest && is(Type::f32, Type::s32)) return unary<float, int32_t, Cast<float, int32_t>>;
  if (nearest && is(Type::f32, Type::u32)) return unary<float, uint32_t, Cast<float, uint32_t>>;
  if (nearest && is(Type::f32, Type::s64)) return unary<float, int64_t, Cast<float, int64_t>>;
  if (nearest && is(Type::bf16, Type::f32)) return unary<uint16_t, float, NarrowToBfloat>;
  if (is(Type::f32, Type::f16)) return unary<float, uint16_t, WidenHalf>;
  if (is(Type::f32, Type::bf16)) return unary<float, uint16_t, WidenBfloat>;
  if (c.rounding == Rounding::zero && is(Type::s32, Type::f32)) return unary<int32_t, float, Truncate>;
  return nullptr;
}

void decode_cvt(Decoding& d) {
  Conversion c{};
  c.rounding = d.rounding();
  if (c.rounding == Rounding::none) {
    constexpr Rounding modes[] = {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up};
    const int mode = d.one_of({"rni", "rzi", "rmi", "rpi"});
    c.integral = mode >= 0;
    if (mode >= 0) c.rounding = modes[mode];
  }
  if (c.rounding == Rounding::none && d.take("rna")) c.rounding = Rounding::nearest_away;
  c.ftz = d.take("ftz");
  c.relu = d.take("relu");
  c.satfinite = d.take("satfinite");
  c.sat = d.take("sat");
  c.to = d.type();
  c.from = d.type();
  if (c.to == Type::f16x2 || c.to == Type::bf16x2) {
    const bool bfloat = c.to == Type::bf16x2;
    c.to = bfloat ? Type::bf16 : Type::f16;
    if (c.from != Type::f32 || (c.rounding != Rounding::nearest_even && c.rounding != Rounding::zero) || c.integral || c.sat)
      return d.fail("'cvt' of these types and modifiers is not known to the emulator");
    d.out.immediate = c.pack();
    d.destination(0, 0, 4);
    d.source(1, 1, Type::f32);
    d.source(2, 2, Type::f32);
    return d.emit(convert_pair, 3);
  }
  const bool floats = is_float(c.to) && is_float(c.from);
  const bool known = (is_integer(c.to) || is_float(c.to)) && (is_integer(c.from) || is_float(c.from)) &&
                     c.from != Type::f16x2 && c.from != Type::bf16x2;
  // A rounding is required where precision can be lost, and forbidden elsewhere.
  const bool loses =
      floats ? format_of(c.to).mantissa < format_of(c.from).mantissa || format_of(c.to).exponent < format_of(c.from).exponent
             : is_float(c.to) != is_float(c.from);
  const bool same = c.to == c.from;
  const bool rounds = c.rounding != Rounding::none;
  if (!known || (loses != rounds && !(same && floats && c.integral)) ||
      (c.integral && !(is_float(c.from) && (!is_float(c.to) || same))) || (loses && !is_float(c.to) && !c.integral) ||
      ((c.relu || c.satfinite) && c.to != Type::f16 && c.to != Type::bf16))
    return d.fail("'cvt' of these types and modifiers is not known to the emulator");
  const int to_bytes = d.register_bytes(d.operand(0)), from_bytes = std::max(d.register_bytes(d.operand(1)), bytes_of(c.from));
  if (to_bytes < bytes_of(c.to) && !(to_bytes == 2 && bytes_of(c.to) == 1)) return d.fail("the result's register is too small");
  auto as_bits = [](int bytes) { return bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : Type::b16; };
  d.out.immediate = c.pack();
  d.out.mode = static_cast<uint8_t>(to_bytes | from_bytes << 4);
  d.destination(0, 0, to_bytes);
  // Constants are of the type; registers may be wider.
  d.source(1, 1, d.operand(1).reg ? as_bits(from_bytes) : c.from);
  if (from_bytes == 1) d.out.mode = static_cast<uint8_t>(to_bytes | 2 << 4);
  if (!d.operand(1).reg && bytes_of(c.from) == 1) return d.fail("'cvt' of a constant of 8 bits");
  const Handler fast = fast_form(c, to_bytes, from_bytes);
  d.emit(fast ? fast : convert_any, 2);
}

}  // namespace

const OpcodeTable& convert_opcodes() {
  static const OpcodeTable table = {{"cvt", decode_cvt}};
  return table;
}

}  // namespace sheaf::ptx
