#include "ir/Nn/Resampling.h"

#include <array>
#include <cmath>
#include <map>
#include <vector>

namespace sheaf::nn {

namespace {

/// Marks where a row has no entry: an entry with weight 0 would be read, and a NaN in it would count.
constexpr double kUnread = -0.0;

/// The entries of a matrix's rows, by column.
using SparseRows = std::vector<std::map<int64_t, double>>;

/// PyTorch computes positions in float32 for float32 images; which entry is nearest depends on it.
float position_in(int64_t j, float scale, bool align_corners, bool cubic) {
  if (align_corners) return scale * static_cast<float>(j);
  const float at = scale * (static_cast<float>(j) + 0.5f) - 0.5f;
  return cubic ? at : std::max(at, 0.0f);
}

/// The weights of the entries -1, 0, 1 and 2 for a position `t` of the way from 0 to 1 (Keys' cubic convolution, a = -0.75).
std::array<double, 4> cubic_weights(double t) {
  constexpr double a = -0.75;
  auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

/// All rows get the width of the widest, with entries inside [0, columns).
Band banded(const SparseRows& rows, int64_t columns) {
  int64_t taps = 1;
  for (const auto& row : rows)
    if (!row.empty()) taps = std::max(taps, row.rbegin()->first - row.begin()->first + 1);
  Band band;
  for (const auto& row : rows) {
    const int64_t start = row.empty() ? 0 : std::min(row.begin()->first, columns - taps);
    band.starts.push_back(start);
    for (int64_t k = 0; k < taps; ++k) {
      auto found = row.find(start + k);
      band.weights.push_back(found == row.end() ? kUnread : found->second);
    }
  }
  return band;
}

}  // namespace

Band transposed(const Band& matrix, int64_t columns) {
  SparseRows rows(static_cast<size_t>(columns));
  const int64_t taps = matrix.taps(), count = static_cast<int64_t>(matrix.starts.size());
  for (int64_t j = 0; j < count; ++j)
    for (int64_t k = 0; k < taps; ++k)
      if (double weight = matrix.weights[j * taps + k]; weight != 0)
        rows[static_cast<size_t>(matrix.starts[j] + k)][j] = weight;
  return banded(rows, count);
}

Resized resized(UpsampleOp op, int64_t size, int64_t spatial_dim) {
  auto pick = [&](auto list) { return list[list.size() == 1 ? 0 : spatial_dim]; };
  if (!op.getSize().empty()) {
    const int64_t to = pick(op.getSize());
    return {to, static_cast<double>(size) / static_cast<double>(to)};
  }
  const double factor = pick(op.getScaleFactor());
  return {static_cast<int64_t>(std::floor(static_cast<double>(size) * factor)), 1 / factor};
}

int64_t spatial_of(llvm::StringRef mode) {
  if (mode == "linear") return 1;
  if (mode == "bilinear" || mode == "bicubic") return 2;
  return mode == "trilinear" ? 3 : 0;
}

Band interpolation(llvm::StringRef mode, bool align_corners, int64_t from, const Resized& to) {
  SparseRows rows(static_cast<size_t>(to.size));
  const bool exact = mode == "nearest-exact", cubic = mode == "bicubic";
  float scale = static_cast<float>(to.scale);
  if (align_corners) scale = to.size > 1 ? static_cast<float>(from - 1) / static_cast<float>(to.size - 1) : 0.0f;
  auto inside = [&](int64_t i) { return std::clamp<int64_t>(i, 0, from - 1); };
  for (int64_t j = 0; j < to.size; ++j) {
    auto& row = rows[static_cast<size_t>(j)];
    if (mode == "nearest" || exact) {
      const float at = (static_cast<float>(j) + (exact ? 0.5f : 0.0f)) * scale;
      row[inside(static_cast<int64_t>(std::floor(at)))] = 1;
      continue;
    }
    const float at = position_in(j, scale, align_corners, cubic);
    const int64_t first = cubic ? static_cast<int64_t>(std::floor(at)) : std::min(static_cast<int64_t>(at), from - 1);
    const double t = std::clamp(static_cast<double>(at) - static_cast<double>(first), 0.0, 1.0);
    if (cubic) {
      const auto weights = cubic_weights(t);
      for (int64_t k = 0; k < 4; ++k) row[inside(first - 1 + k)] += weights[static_cast<size_t>(k)];
    } else {
      row[first] += 1 - t;
      row[inside(first + 1)] += t;
    }
  }
  return banded(rows, from);
}

}  // namespace sheaf::nn
