#include "tools/verify/comparison.h"

#include "tools/verify/slices.h"
#include "tools/verify/tolerance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace sheaf {
namespace {

/// Numbers the floating-point values of a dtype consecutively from zero: neighbours differ by one.
int64_t rank_of(const HostTensor& tensor, int64_t element) {
  const auto i = static_cast<size_t>(element);
  if (tensor.dtype == DType::float32) {
    const auto bits = std::bit_cast<int32_t>(tensor.as<float>()[i]);
    return bits < 0 ? std::numeric_limits<int32_t>::min() - int64_t{bits} : bits;
  }
  const auto bits = std::bit_cast<int16_t>(tensor.as<uint16_t>()[i]);
  return bits < 0 ? std::numeric_limits<int16_t>::min() - int64_t{bits} : bits;
}

}  // namespace

void Difference::merge(const Difference& other) {
  elements += other.elements;
  differing += other.differing;
  largest_absolute = std::max(largest_absolute, other.largest_absolute);
  largest_relative = std::max(largest_relative, other.largest_relative);
  largest_ulps = std::max(largest_ulps, other.largest_ulps);
}

Difference compare(const HostTensor& expected, const HostTensor& found, double tolerance) {
  Difference result;
  result.elements = element_count(expected);
  if (expected.bytes == found.bytes) return result;
  const size_t size = size_of(expected.dtype);
  const bool floating = rounding_error(expected.dtype) > 0;
  for (int64_t i = 0; i < result.elements; ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(expected.bytes.data() + at, found.bytes.data() + at, size) == 0) continue;
    const double a = number_at(expected, i), b = number_at(found, i);
    if (std::isnan(a) && std::isnan(b)) continue;
    ++result.differing;
    double off = std::abs(a - b);
    if (std::isnan(off)) off = std::numeric_limits<double>::infinity();
    result.largest_absolute = std::max(result.largest_absolute, off);
    if (floating)
      result.largest_ulps =
          std::max(result.largest_ulps, std::abs(static_cast<double>(rank_of(expected, i) - rank_of(found, i))));
    if (off > tolerance && result.first_beyond < 0) result.first_beyond = i;
  }
  const double scale = largest_magnitude(expected);
  if (result.largest_absolute > 0)
    result.largest_relative = scale > 0 ? result.largest_absolute / scale : std::numeric_limits<double>::infinity();
  return result;
}

std::vector<int64_t> position_of(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> position(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 0 && shape[i] > 0; element /= shape[i]) position[i] = element % shape[i];
  return position;
}

}  // namespace sheaf
