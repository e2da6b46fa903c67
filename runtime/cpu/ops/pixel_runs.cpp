#include "runtime/cpu/ops/pixel_runs.h"

#include <algorithm>

namespace sheaf {
namespace {

/// Marks first and last among sums that share a target: those of one pixel, or of a row that all of them span or
/// that begins and ends with one that does.
void mark(std::vector<PixelSum>& sums) {
  if (sums.empty()) return;
  sums.front().first = true;
  sums.back().last = true;
}

/// The sums of one row, in runs: false where it must be cut into pixels.
bool keep_runs(std::vector<PixelSum>& row, int64_t width) {
  const auto spans = [width](const PixelSum& sum) { return sum.length == width; };
  const auto spanning = std::count_if(row.begin(), row.end(), spans);
  if (spanning < 2 && !(spanning == 1 && row.size() == 1)) return false;
  std::iter_swap(row.begin(), std::find_if(row.begin(), row.end(), spans));
  if (row.size() > 1) std::iter_swap(row.rbegin(), std::find_if(row.rbegin(), row.rend(), spans));
  return true;
}

}  // namespace

std::vector<TapRun> tap_runs(const ConvShape& g) {
  const int64_t x_height = g.x[2], x_width = g.x[3], y_height = g.y[2], y_width = g.y[3];
  const int64_t kernel_height = g.weight[2], kernel_width = g.weight[3];
  std::vector<TapRun> runs;
  for (int64_t oh = 0; oh < y_height; ++oh) {
    for (int64_t kh = 0; kh < kernel_height; ++kh) {
      const int64_t ih = oh * g.stride[0] - g.padding_begin[0] + kh;
      if (ih < 0 || ih >= x_height) continue;
      for (int64_t kw = 0; kw < kernel_width; ++kw) {
        const int64_t tap = kh * kernel_width + kw;
        bool open = false;  // the last run goes on
        for (int64_t ow = 0; ow < y_width; ++ow) {
          const int64_t iw = ow * g.stride[1] - g.padding_begin[1] + kw;
          if (iw < 0 || iw >= x_width) continue;
          if (open && g.stride[1] == 1) {
            ++runs.back().length;
          } else {
            runs.push_back({tap, ih * x_width + iw, oh * y_width + ow, 1});
            open = true;
          }
        }
      }
    }
  }
  return runs;
}

bool every_pixel_is_reached(const ConvShape& g) {
  std::vector<bool> reached(static_cast<size_t>(g.y[2] * g.y[3]));
  for (const TapRun& run : tap_runs(g))
    for (int64_t i = 0; i < run.length; ++i) reached[static_cast<size_t>(run.y_pixel + i)] = true;
  return std::find(reached.begin(), reached.end(), false) == reached.end();
}

PixelPlan plan_pixels(std::vector<PixelSum> sums, int64_t height, int64_t width) {
  std::vector<std::vector<PixelSum>> rows(static_cast<size_t>(height));
  for (const PixelSum& sum : sums) rows[static_cast<size_t>(sum.target / width)].push_back(sum);
  PixelPlan plan;
  for (int64_t h = 0; h < height; ++h) {
    std::vector<PixelSum>& row = rows[static_cast<size_t>(h)];
    if (keep_runs(row, width)) {
      mark(row);
      plan.sums.insert(plan.sums.end(), row.begin(), row.end());
      continue;
    }
    for (int64_t pixel = h * width; pixel < (h + 1) * width; ++pixel) {
      std::vector<PixelSum> mine;
      for (const PixelSum& sum : row) {
        const int64_t at = pixel - sum.target;
        if (at >= 0 && at < sum.length) mine.push_back({pixel, sum.source + at, sum.tap, 1});
      }
      if (mine.empty()) plan.untouched.push_back(pixel);
      mark(mine);
      plan.sums.insert(plan.sums.end(), mine.begin(), mine.end());
    }
  }
  return plan;
}

}  // namespace sheaf
