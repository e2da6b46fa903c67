// ld, st, prefetch. Operands 0 to 3 are the values, 4 the address.
#include "tests/ptx/access.h"
#include "tests/ptx/decoding.h"

namespace sheaf::ptx {

uint8_t pack_mode(Space space, Touch touch) {
  return static_cast<uint8_t>(static_cast<int>(space) | static_cast<int>(touch) << 3);
}
Space space_of(const Instruction& in) { return static_cast<Space>(in.mode & 7); }
Touch touch_of(const Instruction& in) { return static_cast<Touch>(in.mode >> 3); }

namespace {

/// T in memory, R in the register: extended by T's sign.
template <typename T, typename R, int N>
Step load(Warp& warp, const Instruction& in, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    const void* from = locate(warp, in, lane, space_of(in), address_of(warp, in, 4, lane), sizeof(T) * N, touch_of(in));
    if (!from) return Step::fault;
    T values[N];
    std::memcpy(values, from, sizeof values);
    for (size_t k = 0; k < N; ++k) warp.at<R>(in.operand[k])[lane] = static_cast<R>(values[k]);
  }
  return Step::next;
}

template <typename T, typename R, int N>
Step save(Warp& warp, const Instruction& in, uint32_t mask) {
  for (; mask; mask &= mask - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
    void* to = locate(warp, in, lane, space_of(in), address_of(warp, in, 4, lane), sizeof(T) * N, touch_of(in));
    if (!to) return Step::fault;
    T values[N];
    for (size_t k = 0; k < N; ++k) values[k] = static_cast<T>(warp.at<R>(in.operand[k])[lane]);
    std::memcpy(to, values, sizeof values);
  }
  return Step::next;
}

template <typename T, typename R>
Handler of_count(bool loads, int count) {
  switch (count) {
    case 1: return loads ? load<T, R, 1> : save<T, R, 1>;
    case 2: return loads ? load<T, R, 2> : save<T, R, 2>;
    case 4:
      if constexpr (sizeof(T) <= 4) return loads ? load<T, R, 4> : save<T, R, 4>;
  }
  return nullptr;
}
template <typename T>
Handler of_register(bool loads, int bytes, int count) {
  if (bytes == 2)
    if constexpr (sizeof(T) <= 2) return of_count<T, uint16_t>(loads, count);
  if (bytes == 4)
    if constexpr (sizeof(T) <= 4) return of_count<T, uint32_t>(loads, count);
  if (bytes == 8) return of_count<T, uint64_t>(loads, count);
  return nullptr;
}
Handler transfer(Type type, bool loads, int register_bytes, int count) {
  const bool extends = is_signed(type) && loads;
  switch (bytes_of(type)) {
    case 1:
      return extends ? of_register<int8_t>(loads, register_bytes, count) : of_register<uint8_t>(loads, register_bytes, count);
    case 2:
      return extends ? of_register<int16_t>(loads, register_bytes, count) : of_register<uint16_t>(loads, register_bytes, count);
    case 4:
      return extends ? of_register<int32_t>(loads, register_bytes, count) : of_register<uint32_t>(loads, register_bytes, count);
    case 8: return of_register<uint64_t>(loads, register_bytes, count);
    default: return nullptr;
  }
}

/// Hints that change no value: caches, prefetching, scopes of an order that running blocks in sequence gives anyway.
void take_hints(Decoding& d) {
  d.one_of({"ca", "cg", "cs", "cv", "lu", "wb", "wt"});
  d.one_of({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
  d.one_of({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
  d.one_of({"L2::64B", "L2::128B", "L2::256B"});
}

void decode_transfer(Decoding& d, bool loads) {
  const bool ordered = d.one_of({"volatile", "relaxed", "acquire", "release"}) >= 0;
  d.take("weak");
  if (ordered) d.one_of({"cta", "cluster", "gpu", "sys"});
  const Space named = take_space(d);
  const bool read_only = loads && d.take("nc");
  take_hints(d);
  const int count = d.take("v2") ? 2 : d.take("v4") ? 4 : 1;
  const Type type = d.type();
  const Operand& values = d.operand(loads ? 0 : 1);
  const Touch touch = ordered     ? (loads ? Touch::atomic_read : Touch::atomic)
                      : !loads    ? Touch::write
                      : read_only ? Touch::read_only
                                  : Touch::read;
  const Space space = d.address(loads ? 1 : 0, 4, named);
  d.out.mode = pack_mode(space, touch);
  if (count > 1 && (values.kind != Operand::vector || values.elements.size() != static_cast<size_t>(count)))
    return d.fail("the values of '" + d.statement().opcode + "' are no vector of that size");
  if (space == Space::param && !loads) return d.fail("a store to a kernel's parameter");
  int bytes = 0;
  for (int k = 0; k < count; ++k) {
    const Operand& value = count > 1 ? values.elements[static_cast<size_t>(k)] : values;
    int its = d.register_bytes(value);
    if (!its) its = std::max(bytes_of(type), 2);  // a constant, or an unused value
    if (bytes && its != bytes) return d.fail("a vector of registers of different sizes");
    bytes = its;
    const Type bits = bytes == 8 ? Type::b64 : bytes == 4 ? Type::b32 : Type::b16;
    if (loads) d.destination(value, k, bytes);
    else d.source(value, k, value.reg || bytes_of(type) == 1 ? bits : type);
  }
  d.emit(transfer(type, loads, bytes, count), 2);
}

void decode_prefetch(Decoding& d) {
  const Space space = take_space(d);
  if (d.one_of({"L1", "L2", "L2::evict_last", "L2::evict_normal"}) < 0) d.fail("'prefetch' lacks its level");
  d.address(0, 4, space);
  d.emit([](Warp&, const Instruction&, uint32_t) { return Step::next; }, 1);
}

}  // namespace

Space take_space(Decoding& d) {
  switch (d.one_of({"global", "shared", "local", "param", "const", "shared::cta", "param::entry", "param::func"})) {
    case 0: return Space::global;
    case 1:
    case 5: return Space::shared;
    case 2: return Space::local;
    case 3:
    case 6:
    case 7: return Space::param;
    case 4: return Space::constant;
    default: return Space::generic;
  }
}

const OpcodeTable& memory_opcodes() {
  static const OpcodeTable table = {
      {"ld", [](Decoding& d) { decode_transfer(d, true); }},
      {"ldu", [](Decoding& d) { decode_transfer(d, true); }},
      {"st", [](Decoding& d) { decode_transfer(d, false); }},
      {"prefetch", decode_prefetch},
  };
  return table;
}

}  // namespace sheaf::ptx
