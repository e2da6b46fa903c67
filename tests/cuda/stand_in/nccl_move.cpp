// The stand-in NCCL's data.
#include "tests/cuda/stand_in/nccl.h"
#include "tests/cuda/stand_in/numbers.h"

#include <algorithm>
#include <cstring>

namespace stand_in {
namespace {

size_t size_of(ncclDataType_t type) {
  return type == ncclInt64                             ? 8
         : type == ncclFloat32 || type == ncclInt32    ? 4
         : type == ncclFloat16 || type == ncclBfloat16 ? 2
                                                       : 1;
}

template <typename T, typename Add>
void add(char* sum, const char* more, size_t count, Add added) {
  for (size_t i = 0; i < count; ++i) {
    T one, two;
    std::memcpy(&one, sum + i * sizeof(T), sizeof(T));
    std::memcpy(&two, more + i * sizeof(T), sizeof(T));
    one = static_cast<T>(added(one, two));
    std::memcpy(sum + i * sizeof(T), &one, sizeof(T));
  }
}

void add(char* sum, const char* more, size_t count, ncclDataType_t type) {
  const auto plain = [](auto one, auto two) { return one + two; };
  switch (type) {
    case ncclFloat32: return add<float>(sum, more, count, plain);
    case ncclInt32: return add<uint32_t>(sum, more, count, plain);
    case ncclInt64: return add<uint64_t>(sum, more, count, plain);
    case ncclBfloat16:
      return add<uint16_t>(sum, more, count,
                           [](uint16_t one, uint16_t two) { return to_bfloat16(from_bfloat16(one) + from_bfloat16(two)); });
    case ncclFloat16:
      return add<uint16_t>(sum, more, count,
                           [](uint16_t one, uint16_t two) { return to_float16(from_float16(one) + from_float16(two)); });
    default: return add<uint8_t>(sum, more, count, plain);
  }
}

/// A collective of which every rank's part is there. Sums go in another order than the ranks': nobody may count on theirs.
void move_collective(const NcclCalls& parts) {
  const NcclCall& root = *parts[size_t(parts[0]->other)];
  const size_t bytes = bytes_of(root);
  if (root.kind == NcclCall::reduce) {
    std::vector<char> sum(parts.back()->from, parts.back()->from + bytes);
    for (size_t rank = parts.size() - 1; rank-- > 0;) add(sum.data(), parts[rank]->from, root.count, root.type);
    std::memcpy(root.to, sum.data(), bytes);
  } else {
    for (const auto& part : parts) std::memmove(part->to, root.from, bytes);
  }
  for (const auto& part : parts) part->done = true;
}

}  // namespace

size_t bytes_of(const NcclCall& call) { return call.count * size_of(call.type); }

std::string to_string(const NcclCall& call) {
  const char* const kinds[] = {"broadcast", "reduce", "send", "receive"};
  return std::string(kinds[call.kind]) + " of " + std::to_string(call.count) + " of type " + std::to_string(call.type) +
         (call.collective() ? ", root " : ", peer ") + std::to_string(call.other);
}

void Clique::drop_done() {
  // Collectives end together; the first of each rank's are the same one.
  while (std::all_of(calls.begin(), calls.end(), [](const auto& own) { return !own.empty() && own.front()->done; })) {
    for (NcclCalls& own : calls) own.erase(own.begin());
  }
  for (NcclCalls& own : pairs) std::erase_if(own, [](const auto& call) { return call->done; });
}

void Clique::move() {
  for (size_t i = 0; std::all_of(calls.begin(), calls.end(), [&](const auto& own) { return own.size() > i; }); ++i) {
    NcclCalls parts;
    for (const NcclCalls& own : calls) parts.push_back(own[i]);
    if (parts[0]->done) continue;
    if (!std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part->there; })) break;
    move_collective(parts);
  }
  for (NcclCalls& own : pairs) {
    for (const auto& call : own) {
      if (call->kind != NcclCall::send || call->done) continue;
      // The first receive from this rank that has no partner yet, and this rank's first send to there.
      const NcclCalls& others = pairs[size_t(call->other)];
      const auto first = std::find_if(others.begin(), others.end(), [&](const auto& other) {
        return other->kind == NcclCall::receive && other->other == call->rank && !other->done;
      });
      const auto earlier = std::find_if(own.begin(), own.end(), [&](const auto& other) {
        return other->kind == NcclCall::send && other->other == call->other && !other->done;
      });
      if (first == others.end() || *earlier != call || !call->there || !(*first)->there) continue;
      std::memcpy((*first)->to, call->from, bytes_of(*call));
      call->done = (*first)->done = true;
    }
  }
  drop_done();
}

}  // namespace stand_in
