// Operations among threads of a warp: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, bar.warp.sync, activemask; and
// the barriers of a block. The warp waits for the threads that operand 5 names (WarpRun); here all of them are in `mask`.
#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <algorithm>
#include <bit>

namespace sheaf::ptx {
namespace {

/// A thread's result from one that takes no part: undefined, so something recognisable.
constexpr uint32_t kUndefined = 0x7fffdead;

enum Direction : uint8_t { up, down, butterfly, index };

Step shfl(Warp& warp, const Instruction& in, uint32_t mask) {
  uint32_t a[kWarpSize];
  std::memcpy(a, warp.at<uint32_t>(in.operand[1]), sizeof a);
  const uint32_t *b = warp.at<uint32_t>(in.operand[2]), *c = warp.at<uint32_t>(in.operand[3]);
  const uint32_t* members = warp.at<uint32_t>(in.operand[5]);
  uint32_t results[kWarpSize] = {}, in_range = 0;
  each(mask, [&](uint32_t lane) {
    const uint32_t value = b[lane] & 31, clamp = c[lane] & 31, segment = c[lane] >> 8 & 31;
    const uint32_t last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    uint32_t source = lane;
    bool valid = false;
    switch (in.mode) {
      case up:
        source = lane - value;
        valid = static_cast<int32_t>(source) >= static_cast<int32_t>(last);
        break;
      case down:
        source = lane + value;
        valid = source <= last;
        break;
      case butterfly:
        source = lane ^ value;
        valid = source <= last;
        break;
      case index:
        source = first | (value & ~segment);
        valid = source <= last;
        break;
    }
    if (!valid) source = lane;
    results[lane] = mask & members[lane] & 1u << source ? a[source] : kUndefined;
    in_range |= uint32_t{valid} << lane;
  });
  store<uint32_t>(warp, in, mask, [&](uint32_t lane) { return results[lane]; });
  set_predicate(warp, in.operand[4], mask, in_range);
  return Step::next;
}

void decode_shfl(Decoding& d) {
  if (!d.take("sync")) d.fail("'shfl' without .sync is not known to the emulator");
  const int mode = d.one_of({"up", "down", "bfly", "idx"});
  const Type type = d.type();
  d.out.kind = Instruction::meet;
  d.out.mode = static_cast<uint8_t>(mode);
  d.destination_pair(0, 0, 4, 4);
  d.source(1, 1, Type::b32);
  d.source(2, 2, Type::b32);
  d.source(3, 3, Type::b32);
  d.source(4, 5, Type::b32);
  d.emit(mode >= 0 && type == Type::b32 ? shfl : nullptr, 5);
}

Step vote(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t predicate = warp.predicate(in.operand[1]) & mask;
  const uint32_t* members = warp.at<uint32_t>(in.operand[5]);
  uint32_t results = 0, ballots[kWarpSize] = {};
  each(mask, [&](uint32_t lane) {
    const uint32_t group = members[lane] & mask, set = predicate & group;
    const bool all = set == group, any = set != 0;
    const bool is[] = {all, any, all || !any};
    ballots[lane] = set;
    if (in.mode < 3) results |= uint32_t{is[in.mode]} << lane;
  });
  if (in.mode < 3) set_predicate(warp, in.operand[0], mask, results);
  else store<uint32_t>(warp, in, mask, [&](uint32_t lane) { return ballots[lane]; });
  return Step::next;
}

void decode_vote(Decoding& d) {
  if (!d.take("sync")) d.fail("'vote' without .sync is not known to the emulator");
  const int mode = d.one_of({"all", "any", "uni", "ballot"});
  const Type type = d.type();
  d.out.kind = Instruction::meet;
  d.out.mode = static_cast<uint8_t>(mode);
  d.destination(0, 0, mode == 3 ? 4 : 0);
  d.source(1, 1, Type::pred);
  d.source(2, 5, Type::b32);
  d.emit(mode >= 0 && type == (mode == 3 ? Type::b32 : Type::pred) ? vote : nullptr, 3);
}

template <typename T, bool All>
Step match(Warp& warp, const Instruction& in, uint32_t mask) {
  const T* a = warp.at<T>(in.operand[1]);
  const uint32_t* members = warp.at<uint32_t>(in.operand[5]);
  uint32_t results[kWarpSize] = {}, equal = 0;
  each(mask, [&](uint32_t lane) {
    const uint32_t group = members[lane] & mask;
    uint32_t same = 0;
    each(group, [&](uint32_t other) { same |= uint32_t{a[other] == a[lane]} << other; });
    if (All && same != group) same = 0;
    equal |= uint32_t{same == group} << lane;
    results[lane] = same;
  });
  store<uint32_t>(warp, in, mask, [&](uint32_t lane) { return results[lane]; });
  set_predicate(warp, in.operand[4], mask, equal);
  return Step::next;
}

void decode_match(Decoding& d) {
  if (!d.take("sync")) d.fail("'match' lacks .sync");
  const int mode = d.one_of({"any", "all"});
  const Type type = d.type();
  d.out.kind = Instruction::meet;
  if (mode == 1) d.destination_pair(0, 0, 4, 4);
  else d.destination(0, 0, 4);
  d.source(1, 1, type);
  d.source(2, 5, Type::b32);
  d.emit(mode < 0            ? nullptr
         : type == Type::b32 ? (mode ? match<uint32_t, true> : match<uint32_t, false>)
         : type == Type::b64 ? (mode ? match<uint64_t, true> : match<uint64_t, false>)
                             : nullptr,
         3);
}

template <typename T>
Step redux(Warp& warp, const Instruction& in, uint32_t mask) {
  const T* a = warp.at<T>(in.operand[1]);
  const uint32_t* members = warp.at<uint32_t>(in.operand[5]);
  T results[kWarpSize] = {};
  each(mask, [&](uint32_t lane) {
    bool first = true;
    T sum{};
    each(members[lane] & mask, [&](uint32_t other) {
      const T value = a[other];
      if (first) sum = value;
      else switch (in.mode) {
          case 0: sum = static_cast<T>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(value)); break;
          case 1: sum = std::min(sum, value); break;
          case 2: sum = std::max(sum, value); break;
          case 3: sum &= value; break;
          case 4: sum |= value; break;
          default: sum ^= value; break;
        }
      first = false;
    });
    results[lane] = sum;
  });
  store<T>(warp, in, mask, [&](uint32_t lane) { return results[lane]; });
  return Step::next;
}

void decode_redux(Decoding& d) {
  if (!d.take("sync")) d.fail("'redux' lacks .sync");
  const int operation = d.one_of({"add", "min", "max", "and", "or", "xor"});
  const Type type = d.type();
  d.out.kind = Instruction::meet;
  d.out.mode = static_cast<uint8_t>(operation);
  d.destination(0, 0, 4);
  d.source(1, 1, type);
  d.source(2, 5, Type::b32);
  const bool bits = operation >= 3;
  d.emit(operation < 0                                                 ? nullptr
         : !bits && type == Type::s32                                  ? redux<int32_t>
         : (!bits && type == Type::u32) || (bits && type == Type::b32) ? redux<uint32_t>
                                                                       : nullptr,
         3);
}

Step elect(Warp& warp, const Instruction& in, uint32_t mask) {
  const uint32_t* members = warp.at<uint32_t>(in.operand[5]);
  uint32_t leaders[kWarpSize] = {}, leads = 0;
  each(mask, [&](uint32_t lane) {
    leaders[lane] = static_cast<uint32_t>(std::countr_zero(members[lane] & mask));
    leads |= uint32_t{leaders[lane] == lane} << lane;
  });
  store<uint32_t>(warp, in, mask, [&](uint32_t lane) { return leaders[lane]; });
  set_predicate(warp, in.operand[4], mask, leads);
  return Step::next;
}

void decode_elect(Decoding& d) {
  if (!d.take("sync")) d.fail("'elect' lacks .sync");
  d.out.kind = Instruction::meet;
  d.destination_pair(0, 0, 4, 4);
  d.source(1, 5, Type::b32);
  d.emit(elect, 2);
}

void decode_activemask(Decoding& d) {
  const Type type = d.type();
  d.destination(0, 0, 4);
  auto activemask = [](Warp& warp, const Instruction& in, uint32_t mask) {
    store<uint32_t>(warp, in, mask, [&](uint32_t) { return mask; });
    return Step::next;
  };
  d.emit(type == Type::b32 ? activemask : Handler(nullptr), 1);
}

Step warp_barrier(Warp& warp, const Instruction&, uint32_t mask) {
  if (mask == warp.live) ++warp.epoch;
  return Step::next;
}

/// bar and barrier: operand 0 the result, 1 the barrier, 2 the number of threads, 3 the predicate.
void decode_barrier(Decoding& d) {
  const bool bar = d.statement().opcode == "bar";
  if (bar && d.take("warp")) {
    if (!d.take("sync")) d.fail("'bar.warp' lacks .sync");
    d.out.kind = Instruction::meet;
    d.source(0, 5, Type::b32);
    return d.emit(warp_barrier, 1);
  }
  d.take("cta");
  d.out.kind = Instruction::barrier;
  d.out.wide = d.take("aligned") || bar;
  if (d.take("sync")) {
    d.out.mode = static_cast<uint8_t>(Barrier::sync);
    d.source(0, 1, Type::u32);
    if (d.operands() > 1) d.source(1, 2, Type::u32);
    return d.emit([](Warp&, const Instruction&, uint32_t) { return Step::next; }, std::min<size_t>(d.operands(), 2));
  }
  if (!d.take("red")) return d.fail("'" + d.statement().opcode + "' of this kind is not known to the emulator");
  const int operation = d.one_of({"popc", "and", "or"});
  const Type type = d.type();
  if (operation < 0 || type != (operation ? Type::pred : Type::u32))
    return d.fail("'bar.red' of this operation is not known to the emulator");
  constexpr Barrier kinds[] = {Barrier::popc, Barrier::all, Barrier::any};
  d.out.mode = static_cast<uint8_t>(kinds[operation]);
  d.destination(0, 0, operation ? 0 : 4);
  d.source(1, 1, Type::u32);
  const bool counted = d.operands() > 3;
  if (counted) d.source(2, 2, Type::u32);
  d.source(counted ? 3 : 2, 3, Type::pred);
  d.emit([](Warp&, const Instruction&, uint32_t) { return Step::next; }, counted ? 4 : 3);
}

}  // namespace

const OpcodeTable& exchange_opcodes() {
  static const OpcodeTable table = {
      {"shfl", decode_shfl},   {"vote", decode_vote},   {"match", decode_match},     {"redux", decode_redux},
      {"elect", decode_elect}, {"bar", decode_barrier}, {"barrier", decode_barrier}, {"activemask", decode_activemask},
  };
  return table;
}

}  // namespace sheaf::ptx
