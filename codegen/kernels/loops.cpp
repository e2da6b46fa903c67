#include "codegen/kernels/loops.h"

#include "runtime/base/extent_product.h"

#include <algorithm>

namespace sheaf::kernels {

std::optional<Extent> product(const Extent& a, const Extent& b) { return multiplied(a, b); }

std::optional<Extent> product(const Shape& shape, size_t first, size_t last) {
  Extent result = 1;
  for (size_t i = first; i < last; ++i) {
    auto next = product(result, shape[i]);
    if (!next) return std::nullopt;
    result = *next;
  }
  return result;
}

Result<int64_t> checked_dim(const std::string& what, int64_t dim, size_t rank) {
  int64_t n = static_cast<int64_t>(rank);
  if (dim < -n || dim >= n)
    return Error(what + ": dimension " + std::to_string(dim) + " is outside a tensor of rank " + std::to_string(n));
  return dim < 0 ? dim + n : dim;
}

namespace {

/// The dimensions of `shape` along which the operand moves.
Result<std::vector<bool>> moving(const Shape& shape, const Shape& operand) {
  if (operand.size() > shape.size())
    return Error("an operand of rank " + std::to_string(operand.size()) + " does not broadcast to rank " +
                 std::to_string(shape.size()));
  std::vector<bool> moves(shape.size(), false);
  size_t skipped = shape.size() - operand.size();
  for (size_t i = 0; i < operand.size(); ++i) {
    const Extent& size = shape[skipped + i];
    if (operand[i] == size) moves[skipped + i] = !(size == Extent(1));
    else if (!(operand[i] == Extent(1)))
      return Error("an operand's size " + to_string(operand[i]) + " does not broadcast to " + to_string(size));
  }
  return moves;
}

}  // namespace

Result<std::vector<Loop>> collapse(const Shape& shape, const std::vector<Shape>& operands, size_t first, size_t last) {
  std::vector<std::vector<bool>> moves;
  for (const Shape& operand : operands) {
    SHEAF_ASSIGN(auto result, moving(shape, operand));
    moves.push_back(result);
  }
  std::vector<Loop> loops;
  for (size_t dim = first; dim < last; ++dim) {
    if (shape[dim] == Extent(1)) continue;
    Loop loop{shape[dim], {}};
    for (const auto& operand : moves) loop.moves.push_back(operand[dim]);
    if (!loops.empty() && loops.back().moves == loop.moves) {
      if (auto merged = product(loops.back().size, loop.size)) {
        loops.back().size = *merged;
        continue;
      }
    }
    loops.push_back(std::move(loop));
  }
  // A loop of size 1 stays at index 0, so it doesn't matter whether operands move along it.
  if (loops.empty()) loops.push_back({1, std::vector<bool>(operands.size(), true)});
  return loops;
}

Prefix linear_prefix(const std::vector<Loop>& loops, size_t limit) {
  Prefix prefix;
  while (prefix.loops < limit) {
    auto next = product(prefix.size, loops[prefix.loops].size);
    if (!next) break;
    prefix.size = *next;
    ++prefix.loops;
  }
  return prefix;
}

int64_t typical_size(const Extent& extent) { return extent.is_static() ? std::max<int64_t>(extent.constant, 1) : 64; }

int64_t typical_gpu_size(const Extent& extent) {
  int64_t size = extent.constant;
  for (const auto& [symbol, factor] : extent.terms) size += 256 * factor;
  return std::max<int64_t>(size, 1);
}

int64_t typical_size(const std::vector<Loop>& loops, size_t first) {
  int64_t size = 1;
  for (size_t i = first; i < loops.size(); ++i) size *= typical_size(loops[i].size);
  return size;
}

int64_t grain_for(int64_t cost) {
  // About 10 µs of one core; for less work, waking another core costs more than it saves.
  constexpr int64_t least = 65536;
  return std::max<int64_t>(1, least / std::max<int64_t>(cost, 1));
}

}  // namespace sheaf::kernels
