#include "tools/verify/tolerance.h"

#include "runtime/base/philox.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

/// Sums are computed in float32, whatever is added.
constexpr double kSumError = 0x1p-24;

/// Half a rounding per term, added in quadrature as independent errors are, and a few more for everything that isn't a sum.
double roundings(double terms) { return 4 + std::sqrt(std::max(terms, 1.0)); }

/// The error of sums of similar numbers, relative to the sum: each rounding goes the same way, for as long as one accumulator
/// continues.
double one_way(double terms) { return kSumError * std::min(terms / 2, 16 * std::sqrt(std::max(terms, 1.0))); }

template <typename Change>
HostTensor changed(const HostTensor& tensor, const Change& change) {
  HostTensor made = tensor;
  if (rounding_error(tensor.dtype) > 0)
    for (int64_t i = 0; i < element_count(tensor); ++i) set_number(made, i, change(number_at(tensor, i), i));
  return made;
}

}  // namespace

double rounding_error(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0x1p-24;
    case DType::float16: return 0x1p-11;
    case DType::bfloat16: return 0x1p-8;
    case DType::int64:
    case DType::int32:
    case DType::uint8:
    case DType::boolean: return 0;
  }
  return 0;
}

HostTensor magnitudes_of(const HostTensor& tensor) {
  return changed(tensor, [](double x, int64_t) { return std::abs(x); });
}

HostTensor ones_like(const HostTensor& tensor) {
  return changed(tensor, [](double, int64_t) { return 1.0; });
}

HostTensor perturbed(const HostTensor& tensor, double relative, uint64_t seed) {
  const PhiloxSequence sequence(seed, 0);
  auto words = sequence.words(0);
  return changed(tensor, [&](double x, int64_t i) {
    if (i % 128 == 0) words = sequence.words(static_cast<uint64_t>(i / 128));  // a bit for each element
    const bool far = words[static_cast<size_t>(i % 128 / 32)] >> (i % 32) & 1U;
    return x * (1 - (far ? 3 : 1) * relative);
  });
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

double tolerance_of_sums(const HostTensor& result, const HostTensor& sums, const HostTensor& terms, double products) {
  const double rounding = rounding_error(result.dtype);
  if (rounding == 0) return 0;
  double largest = 0, stored = 0;
  for (int64_t i = 0; i < element_count(sums); ++i) {
    const double sum = number_at(sums, i), count = number_at(terms, i);
    if (!std::isfinite(sum)) continue;
    largest = std::max(largest,
                       sum * (2 * kSumError * roundings(count) + products) + one_way(count) * std::abs(number_at(result, i)));
    stored = std::max(stored, sum / std::sqrt(std::max(count, 1.0)));
  }
  // A narrow result is rounded once more; so are the summands that replicas add up, whatever their size.
  return largest + (rounding > kSumError ? 8 * rounding * std::max(largest_magnitude(result), stored) : 0);
}

double tolerance_of(const HostTensor& result, double moved, double terms, double longest, DType operands) {
  const double rounding = rounding_error(result.dtype);
  if (rounding == 0) return 0;
  const double within = kSumError / std::max(kSumError, rounding_error(operands));
  return 8 * rounding * roundings(longest) * largest_magnitude(result) +
         moved * std::max(8.0, within * roundings(terms) * std::sqrt(std::max(terms, 1.0)) / 2);
}

double error_of_mean(double terms) { return one_way(terms); }

}  // namespace sheaf
