#include "runtime/bind/arena.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace sheaf {
namespace {

bool overlap_in_time(const ArenaBuffer& a, const ArenaBuffer& b) { return a.begin < b.end && b.begin < a.end; }

/// Places buffers one by one, each into the smallest gap that holds it between those already placed that live at the same time,
/// or above them all.
ArenaSolution place(const ArenaProblem& problem, const std::vector<size_t>& order, size_t give_up_at) {
  struct Placed {
    size_t offset, end;   // in bytes
    int64_t from, until;  // its lifetime; stored here, since this loop takes most of the planner's time
  };
  ArenaSolution solution;
  solution.offsets.assign(problem.buffers.size(), 0);
  std::vector<Placed> placed;  // by offset
  placed.reserve(order.size());
  for (size_t index : order) {
    const ArenaBuffer& buffer = problem.buffers[index];
    const size_t bytes = arena_size(buffer.bytes, problem.alignment);
    if (bytes == 0 || buffer.begin == buffer.end) continue;
    size_t best_offset = 0, best_gap = std::numeric_limits<size_t>::max(), top = 0;
    for (const Placed& other : placed) {
      if (other.until <= buffer.begin || buffer.end <= other.from) continue;
      if (other.offset > top && other.offset - top >= bytes && other.offset - top < best_gap) {
        best_gap = other.offset - top;
        best_offset = top;
      }
      top = std::max(top, other.end);
    }
    if (best_gap == std::numeric_limits<size_t>::max()) best_offset = top;
    solution.offsets[index] = best_offset;
    solution.bytes = std::max(solution.bytes, best_offset + bytes);
    if (solution.bytes >= give_up_at) return solution;
    const Placed entry{best_offset, best_offset + bytes, buffer.begin, buffer.end};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  entry);
  }
  return solution;
}

}  // namespace

Result<void> ArenaProblem::check() const {
  size_t total = 0;
  if (alignment == 0) return Error("arena: an alignment of 0");
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].end < buffers[i].begin) return Error("arena: buffer " + std::to_string(i) + " ends before it begins");
    if (buffers[i].bytes > std::numeric_limits<size_t>::max() / 2 - total - alignment) {
      return Error("arena: the buffers' sizes overflow");
    }
    total += arena_size(buffers[i].bytes, alignment);
  }
  return {};
}

size_t ArenaProblem::lower_bound() const {
  struct Change {
    int64_t time;
    bool ends;
    size_t bytes;
  };
  std::vector<Change> changes;
  for (const ArenaBuffer& buffer : buffers) {
    if (buffer.begin == buffer.end) continue;
    changes.push_back({buffer.begin, false, arena_size(buffer.bytes, alignment)});
    changes.push_back({buffer.end, true, arena_size(buffer.bytes, alignment)});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.time != b.time ? a.time < b.time : a.ends > b.ends; });
  size_t live = 0, most = 0;
  for (const Change& change : changes) {
    live = change.ends ? live - change.bytes : live + change.bytes;
    most = std::max(most, live);
  }
  return most;
}

Result<void> verify(const ArenaProblem& problem, const ArenaSolution& solution) {
  const auto& buffers = problem.buffers;
  if (solution.offsets.size() != buffers.size()) return Error("arena: the solution has another number of buffers");
  std::vector<size_t> order;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (solution.offsets[i] % problem.alignment != 0) return Error("arena: buffer " + std::to_string(i) + " is misaligned");
    if (buffers[i].bytes == 0 || buffers[i].begin == buffers[i].end) continue;
    if (solution.offsets[i] + arena_size(buffers[i].bytes, problem.alignment) > solution.bytes) {
      return Error("arena: buffer " + std::to_string(i) + " is beyond the end");
    }
    order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return solution.offsets[a] < solution.offsets[b]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t end = solution.offsets[order[i]] + buffers[order[i]].bytes;
    for (size_t j = i + 1; j < order.size() && solution.offsets[order[j]] < end; ++j) {
      if (!overlap_in_time(buffers[order[i]], buffers[order[j]])) continue;
      return Error("arena: buffers " + std::to_string(order[i]) + " and " + std::to_string(order[j]) + " overlap");
    }
  }
  return {};
}

ArenaSolution plan_arena(const ArenaProblem& problem) {
  const auto& buffers = problem.buffers;
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t bound = problem.lower_bound();
  ArenaSolution best;
  best.bytes = std::numeric_limits<size_t>::max();
  const auto attempt = [&](const std::vector<size_t>& sequence) {
    ArenaSolution solution = place(problem, sequence, best.bytes);
    if (solution.bytes < best.bytes) best = std::move(solution);
    return best.bytes <= bound;
  };
  const auto by = [&](auto key) {
    std::vector<size_t> sequence = order;
    std::sort(sequence.begin(), sequence.end(), [&](size_t a, size_t b) {
      const double first = key(buffers[a]), second = key(buffers[b]);
      return first != second ? first > second : a < b;
    });
    return sequence;
  };
  const auto length = [](const ArenaBuffer& buffer) { return static_cast<double>(buffer.end - buffer.begin); };
  const auto area = [&](const ArenaBuffer& buffer) { return length(buffer) * static_cast<double>(buffer.bytes); };
  const std::vector<size_t> by_size = by([](const ArenaBuffer& buffer) { return static_cast<double>(buffer.bytes); });
  if (attempt(by_size) || attempt(by(area)) || attempt(by(length)) ||
      attempt(by([](const ArenaBuffer& buffer) { return -static_cast<double>(buffer.begin); })) ||
      attempt(by([](const ArenaBuffer& buffer) { return static_cast<double>(buffer.end); }))) {
    return best;
  }
  // Then random exchanges in the order by size; placing is quadratic, so large problems get fewer tries.
  std::mt19937_64 random(20);
  const size_t tries = std::min<size_t>(200, 40'000'000 / (buffers.size() * buffers.size() + 1));
  std::vector<size_t> sequence = by_size;
  for (size_t i = 0; i < tries; ++i) {
    std::vector<size_t> candidate = sequence;
    for (int swaps = 0; swaps < 3; ++swaps) {
      std::swap(candidate[random() % candidate.size()], candidate[random() % candidate.size()]);
    }
    const size_t before = best.bytes;
    if (attempt(candidate)) break;
    if (best.bytes < before) sequence = std::move(candidate);
  }
  return best;
}

}  // namespace sheaf
