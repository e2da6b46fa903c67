#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <bit>

namespace sheaf::ptx {

Type type_of(std::string_view name) {
  static const std::unordered_map<std::string_view, Type> types = {
      {"pred", Type::pred}, {"u8", Type::u8},   {"u16", Type::u16}, {"u32", Type::u32},      {"u64", Type::u64},
      {"s8", Type::s8},     {"s16", Type::s16}, {"s32", Type::s32}, {"s64", Type::s64},      {"b8", Type::b8},
      {"b16", Type::b16},   {"b32", Type::b32}, {"b64", Type::b64}, {"f16", Type::f16},      {"f16x2", Type::f16x2},
      {"bf16", Type::bf16}, {"f32", Type::f32}, {"f64", Type::f64}, {"bf16x2", Type::bf16x2}};
  auto found = types.find(name);
  return found == types.end() ? Type::none : found->second;
}

Decoding::Decoding(KernelBuilder& builder, const Statement& statement)
    : builder_(builder), statement_(statement), taken_(statement.modifiers.size()) {
  out.line = static_cast<uint32_t>(statement.line);
  if (statement.guard) {
    out.guard = builder.place(*statement.guard);
    out.guard_negated = statement.guard_negated;
  }
}

void Decoding::fail(const std::string& what) { builder_.fail(statement_.line, what); }

bool Decoding::take(std::string_view modifier) {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (!taken_[i] && statement_.modifiers[i] == modifier) {
      taken_[i] = true;
      return true;
    }
  }
  return false;
}

int Decoding::one_of(std::initializer_list<std::string_view> names) {
  int position = 0;
  for (std::string_view name : names) {
    if (take(name)) return position;
    ++position;
  }
  return -1;
}

Type Decoding::type() {
  for (size_t i = 0; i < taken_.size(); ++i) {
    if (taken_[i]) continue;
    const Type type = type_of(statement_.modifiers[i]);
    if (type == Type::none) continue;
    taken_[i] = true;
    return type;
  }
  fail("'" + statement_.opcode + "' lacks a type that the emulator knows");
  return Type::none;
}

Rounding Decoding::rounding() {
  constexpr Rounding modes[] = {Rounding::nearest_even, Rounding::zero, Rounding::down, Rounding::up};
  const int mode = one_of({"rn", "rz", "rm", "rp"});
  return mode < 0 ? Rounding::none : modes[mode];
}

const Operand& Decoding::operand(size_t index) {
  static const Operand nothing{};
  if (index < statement_.operands.size()) return statement_.operands[index];
  fail("'" + statement_.opcode + "' has too few operands");
  return nothing;
}

void Decoding::destination(const Operand& operand, int slot, int bytes) {
  if (operand.kind == Operand::sink) {
    out.operand[static_cast<size_t>(slot)] = bytes ? builder_.temporary(bytes) : kNone;
    return;
  }
  if (!operand.reg || operand.kind != Operand::name) return fail("the result of '" + statement_.opcode + "' is no register");
  if (operand.reg->bytes != bytes)
    return fail("register '" + operand.text + "' is of another size than the result of '" + statement_.opcode + "'");
  out.operand[static_cast<size_t>(slot)] = builder_.place(*operand.reg);
}

void Decoding::destination_pair(size_t index, int slot, int bytes, int predicate_slot) {
  const Operand& both = operand(index);
  if (both.kind != Operand::pair) return destination(both, slot, bytes);
  destination(both.elements[0], slot, bytes);
  destination(both.elements[1], predicate_slot, 0);
}

void Decoding::source(const Operand& operand, int slot, Type type) {
  uint32_t& place = out.operand[static_cast<size_t>(slot)];
  const int bytes = bytes_of(type);
  switch (operand.kind) {
    case Operand::integer:
      if (type == Type::f32 || type == Type::f64) return fail("an integer as an operand of type float");
      place = builder_.constant(bytes, type == Type::pred ? (operand.bits ? ~0ull : 0) : operand.bits);
      return;
    case Operand::float32:
      if (type == Type::f64)
        place =
            builder_.constant(8, std::bit_cast<uint64_t>(double(std::bit_cast<float>(static_cast<uint32_t>(operand.bits)))));
      else if (bytes == 4) place = builder_.constant(4, operand.bits);
      else fail("a float of 32 bits as an operand of another size");
      return;
    case Operand::float64:
      if (type == Type::f32)
        place = builder_.constant(4, std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.bits))));
      else if (bytes == 8) place = builder_.constant(8, operand.bits);
      else fail("a float of 64 bits as an operand of another size");
      return;
    case Operand::name: break;
    default: return fail("an operand of '" + statement_.opcode + "' that is neither register nor constant");
  }
  if (operand.reg) {
    if (operand.reg->bytes != bytes)
      return fail("register '" + operand.text + "' is of another size than '" + statement_.opcode + "' takes");
    place = builder_.place(*operand.reg);
    if (!operand.negated) return;
    if (type != Type::pred) return fail("'!' before what is no predicate");
    Instruction invert;
    invert.line = out.line;
    invert.operand = {builder_.temporary(0), place};
    invert.handler = [](Warp& warp, const Instruction& in, uint32_t) {
      warp.predicate(in.operand[0]) = ~warp.predicate(in.operand[1]);
      return Step::next;
    };
    builder_.emit(invert);
    place = invert.operand[0];
    return;
  }
  if (operand.text == "WARP_SZ") {
    place = builder_.constant(bytes, kWarpSize);
  } else if (auto special = builder_.special(operand.text)) {
    if (bytes != 4) return fail("'" + operand.text + "' has 32 bits");
    place = *special;
  } else if (auto variable = builder_.variable(operand)) {
    if (bytes != 8 && !(bytes == 4 && variable->space == Space::shared)) return fail("an address in so few bits");
    place = builder_.constant(bytes, variable->address + static_cast<uint64_t>(operand.offset));
  } else {
    fail("'" + operand.text + "' is not declared, or a special register that the emulator does not know");
  }
}

Space Decoding::address(size_t index, int slot, Space space) {
  const Operand& address = operand(index);
  if (address.kind != Operand::address) {
    fail("expected an address in brackets");
    return space;
  }
  out.immediate = address.offset;
  out.wide = 1;
  uint32_t& place = out.operand[static_cast<size_t>(slot)];
  if (address.reg) {
    if (address.reg->bytes != 8 && address.reg->bytes != 4) fail("an address must have 32 or 64 bits");
    if (address.reg->bytes == 4 && (space == Space::generic || space == Space::global || space == Space::constant))
      fail("an address of this space must have 64 bits");
    out.wide = address.reg->bytes == 8;
    place = builder_.place(*address.reg);
  } else if (address.text.empty()) {
    place = builder_.constant(8, 0);
  } else if (auto variable = builder_.variable(address)) {
    const Space its = variable->space == Space::constant ? Space::global : variable->space;
    const bool param = space == Space::param && (its == Space::local || its == Space::param);
    if (!param && its != (space == Space::constant ? Space::global : space))
      fail("'" + address.text + "' lies in another space than the instruction names");
    if (param) space = its;
    place = builder_.constant(8, variable->address);
  } else {
    fail("'" + address.text + "' is not declared");
  }
  return space;
}

void Decoding::emit(Handler handler, size_t operand_count) {
  for (size_t i = 0; i < taken_.size(); ++i)
    if (!taken_[i])
      return fail("modifier '." + statement_.modifiers[i] + "' of '" + statement_.opcode + "' is not known to the emulator");
  if (statement_.operands.size() != operand_count)
    return fail("'" + statement_.opcode + "' has " + std::to_string(statement_.operands.size()) + " operands, not " +
                std::to_string(operand_count));
  if (!handler) return fail("'" + statement_.opcode + "' of these types is not known to the emulator");
  out.handler = handler;
  builder_.emit(out);
}

}  // namespace sheaf::ptx
