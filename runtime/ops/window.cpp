#include "runtime/ops/window.h"

namespace sheaf {
namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

Result<Extent> places(const Extent& size, const SlidingWindow& window) {
  if (is_unknown(size)) return size;
  const int64_t paddings = window.padding_begin + window.padding_end;
  const Extent room = size + Extent(paddings - window.span());
  Extent count;
  for (const auto& [name, coefficient] : room.terms) {
    if (coefficient % window.stride != 0)
      return Error("a stride of " + std::to_string(window.stride) + " over " + to_string(size) +
                   " elements, which depend on the batch, gives a size that isn't linear in it");
    count.terms[name] = coefficient / window.stride;
  }
  count.constant = floor_divide(room.constant + (window.ceil_mode ? window.stride - 1 : 0), window.stride) + 1;
  // The symbols' share of the last window's start equals their share of the size: only constants remain.
  if (window.ceil_mode && (count.constant - 1) * window.stride >= size.constant + window.padding_begin) count.constant -= 1;
  if (count.is_static() && count.constant < 1)
    return Error("a window that spans " + std::to_string(window.span()) + " finds no place in " + to_string(size) +
                 " elements" + (paddings ? " and a padding of " + std::to_string(paddings) : ""));
  return count;
}

std::vector<SlidingWindow> sliding_windows(std::span<const int64_t> sizes, std::span<const int64_t> stride,
                                           std::span<const int64_t> dilation, std::span<const int64_t> padding_begin,
                                           std::span<const int64_t> padding_end, bool ceil_mode) {
  std::vector<SlidingWindow> windows;
  for (size_t i = 0; i < sizes.size(); ++i)
    windows.push_back({sizes[i], stride[i], dilation.empty() ? 1 : dilation[i], padding_begin.empty() ? 0 : padding_begin[i],
                       padding_end.empty() ? 0 : padding_end[i], ceil_mode});
  return windows;
}

Result<Shape> places_in(const Shape& x, std::span<const SlidingWindow> windows) {
  Shape y = x;
  for (size_t i = 0; i < windows.size(); ++i) {
    const size_t dim = x.size() - windows.size() + i;
    auto count = places(x[dim], windows[i]);
    if (!count) return Error("dimension " + std::to_string(dim) + " of " + to_string(x) + ": " + count.error().message());
    y[dim] = *count;
  }
  return y;
}

Result<void> check_image(const Shape& image, size_t spatial, bool unbatched, std::string_view what) {
  if (spatial < 1 || spatial > 3) return Error("a window has one to three spatial dimensions");
  if (image.size() == spatial + 2 || (unbatched && image.size() == spatial + 1)) return {};
  return Error("expects " + std::string(what) + " of " + std::to_string(spatial + 2) + " dimensions" +
               (unbatched ? " (or " + std::to_string(spatial + 1) + " without the batch)" : "") + ", but got " +
               to_string(image));
}

}  // namespace sheaf
