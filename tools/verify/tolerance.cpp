#include "tools/verify/tolerance.h"

#include "runtime/base/philox.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <cmath>

namespace sheaf {

double rounding_error(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0x1p-24;
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::int64:
    case DType::int32:
    case DType::uint8: return 0;
  }
  return 0;
}

Result<HostTensor> perturbed(const HostTensor& tensor, uint64_t seed) {
  HostTensor moved = tensor;
  const double step = 4 * rounding_error(tensor.dtype);
  if (step == 0) return moved;
  const PhiloxSequence sequence(seed, 0);
  for (int64_t i = 0; i < element_count(tensor); i += 128) {
    const auto words = sequence.words(static_cast<uint64_t>(i / 128));  // a bit for each element
    for (int64_t j = i; j < std::min(i + 128, element_count(tensor)); ++j) {
      const bool up = words[static_cast<size_t>((j - i) / 32)] >> ((j - i) % 32) & 1U;
      set_number(moved, j, number_at(tensor, j) * (up ? 1 + step : 1 - step));
    }
  }
  return moved;
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < element_count(a); ++i) {
    const double difference = std::abs(number_at(a, i) - number_at(b, i));
    if (std::isfinite(difference)) largest = std::max(largest, difference);
  }
  return largest;
}

double largest_magnitude(const HostTensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < element_count(tensor); ++i) {
    const double magnitude = std::abs(number_at(tensor, i));
    if (std::isfinite(magnitude)) largest = std::max(largest, magnitude);
  }
  return largest;
}

double tolerance_of(const HostTensor& result, double terms, double moved) {
  const double rounding = rounding_error(result.dtype);
  if (rounding == 0) return 0;
  return 8 * rounding * (4 + std::sqrt(terms)) * largest_magnitude(result) + 8 * moved;
}

}  // namespace sheaf
