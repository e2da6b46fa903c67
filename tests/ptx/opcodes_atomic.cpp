// atom, red: threads of a warp one after another, from the lowest. Operand 0 is the result (or none), 4 the
// address, 1 and 2 the operands.
#include "tests/ptx/access.h"
#include "tests/ptx/decoding.h"
#include "tests/ptx/float_formats.h"

namespace sheaf::ptx {
namespace {

enum class Atomic { add, min, max, bit_and, bit_or, bit_xor, exch, cas, inc, dec };

template <Atomic Operation, typename T>
T combine(T old, T b, T c, bool flushes) {
  switch (Operation) {
    case Atomic::add:
      if constexpr (std::is_same_v<T, float>) {
        if (flushes) return canonical(flush(flush(old) + flush(b)));
        return canonical(old + b);
      } else if constexpr (std::is_same_v<T, double>) {
        return old + b;
      } else {
        return static_cast<T>(static_cast<uint64_t>(old) + static_cast<uint64_t>(b));
      }
    case Atomic::min: return b < old ? b : old;
    case Atomic::max: return b > old ? b : old;
    case Atomic::exch: return b;
    case Atomic::cas: return old == b ? c : old;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (Operation) {
      case Atomic::bit_and: return old & b;
      case Atomic::bit_or: return old | b;
      case Atomic::bit_xor: return old ^ b;
      case Atomic::inc: return old >= b ? 0 : old + 1;
      case Atomic::dec: return old == 0 || old > b ? b : old - 1;
      default: break;
    }
  }
  return old;
}

template <Atomic Operation, typename T>
Step atomic(Warp& warp, const Instruction& in, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const Space space = space_of(in);
    const uint64_t address = address_of(warp, in, 4, lane);
    void* at = locate(warp, in, lane, space, address, sizeof(T), Touch::atomic);
    if (!at) return Step::fault;
    T old;
    std::memcpy(&old, at, sizeof old);
    const bool global = space == Space::global || (space == Space::generic && !(address & kWindowBits));
    const T b = warp.at<T>(in.operand[1])[lane];
    const T c = in.operand[2] == kNone ? T{} : warp.at<T>(in.operand[2])[lane];
    const T result = combine<Operation, T>(old, b, c, global);
    std::memcpy(at, &result, sizeof result);
    if (in.operand[0] != kNone) warp.at<T>(in.operand[0])[lane] = old;
  }
  return Step::next;
}

/// f16, bf16 and pairs of them: only add.
template <bool Bfloat, typename T>
Step narrow_add(Warp& warp, const Instruction& in, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    void* at = locate(warp, in, lane, space_of(in), address_of(warp, in, 4, lane), sizeof(T), Touch::atomic);
    if (!at) return Step::fault;
    T old;
    std::memcpy(&old, at, sizeof old);
    const T b = warp.at<T>(in.operand[1])[lane];
    T result = 0;
    for (size_t shift = 0; shift < 8 * sizeof(T); shift += 16) {
      const auto x = static_cast<uint16_t>(old >> shift), y = static_cast<uint16_t>(b >> shift);
      const uint16_t sum = Bfloat ? double_to_bfloat(fma_round_to_odd(bfloat_to_float(x), 1, bfloat_to_float(y)))
                                  : double_to_half(double(half_to_float(x)) + half_to_float(y));
      result |= static_cast<T>(static_cast<T>(sum) << shift);
    }
    std::memcpy(at, &result, sizeof result);
    if (in.operand[0] != kNone) warp.at<T>(in.operand[0])[lane] = old;
  }
  return Step::next;
}

template <typename T>
Handler of_operation(Atomic operation) {
  switch (operation) {
    case Atomic::add: return atomic<Atomic::add, T>;
    case Atomic::exch: return atomic<Atomic::exch, T>;
    default: break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (operation) {
      case Atomic::min: return atomic<Atomic::min, T>;
      case Atomic::max: return atomic<Atomic::max, T>;
      case Atomic::bit_and: return atomic<Atomic::bit_and, T>;
      case Atomic::bit_or: return atomic<Atomic::bit_or, T>;
      case Atomic::bit_xor: return atomic<Atomic::bit_xor, T>;
      case Atomic::cas: return atomic<Atomic::cas, T>;
      case Atomic::inc: return atomic<Atomic::inc, T>;
      case Atomic::dec: return atomic<Atomic::dec, T>;
      default: break;
    }
  }
  return nullptr;
}

void decode_atomic(Decoding& d, bool gives) {
  d.one_of({"relaxed", "acquire", "release", "acq_rel"});
  d.one_of({"cta", "cluster", "gpu", "sys"});
  const Space named = take_space(d);
  const int operation = d.one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  if (operation < 0) return d.fail("'" + d.statement().opcode + "' of this operation is not known to the emulator");
  const auto kind = static_cast<Atomic>(operation);
  const bool noftz = d.take("noftz");
  const Type type = d.type();
  const bool narrow = type == Type::f16 || type == Type::f16x2 || type == Type::bf16 || type == Type::bf16x2;
  if (narrow != noftz) return d.fail("f16 and bf16 are added with .noftz, others without");
  const size_t first = gives ? 1 : 0;
  const Type bits = narrow ? (bytes_of(type) == 2 ? Type::b16 : Type::b32) : type;
  if (gives) d.destination(0, 0, bytes_of(type));
  const Space space = d.address(first, 4, named);
  d.out.mode = pack_mode(space, Touch::atomic);
  d.source(first + 1, 1, bits);
  if (kind == Atomic::cas) d.source(first + 2, 2, bits);
  Handler handler = nullptr;
  switch (type) {
    case Type::b32:
    case Type::u32: handler = of_operation<uint32_t>(kind); break;
    case Type::s32: handler = of_operation<int32_t>(kind); break;
    case Type::b64:
    case Type::u64: handler = of_operation<uint64_t>(kind); break;
    case Type::s64: handler = of_operation<int64_t>(kind); break;
    case Type::b16: handler = kind == Atomic::cas ? atomic<Atomic::cas, uint16_t> : nullptr; break;
    case Type::f32: handler = of_operation<float>(kind); break;
    case Type::f64: handler = of_operation<double>(kind); break;
    case Type::f16: handler = kind == Atomic::add ? narrow_add<false, uint16_t> : nullptr; break;
    case Type::f16x2: handler = kind == Atomic::add ? narrow_add<false, uint32_t> : nullptr; break;
    case Type::bf16: handler = kind == Atomic::add ? narrow_add<true, uint16_t> : nullptr; break;
    case Type::bf16x2: handler = kind == Atomic::add ? narrow_add<true, uint32_t> : nullptr; break;
    default: break;
  }
  d.emit(handler, first + 2 + (kind == Atomic::cas));
}

}  // namespace

const OpcodeTable& atomic_opcodes() {
  static const OpcodeTable table = {
      {"atom", [](Decoding& d) { decode_atomic(d, true); }},
      {"red", [](Decoding& d) { decode_atomic(d, false); }},
  };
  return table;
}

}  // namespace sheaf::ptx
