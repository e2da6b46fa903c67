#include "runtime/data/random.h"

#include "runtime/base/philox.h"

#include <cmath>
#include <numbers>

namespace sheaf {

namespace {

constexpr float kUnit = 0x1p-24f;

}  // namespace

void fill_normal(std::span<float> values, uint64_t seed, uint64_t stream) {
  const PhiloxSequence sequence(seed, stream);
  for (size_t i = 0; i < values.size(); i += 4) {
    const auto bits = sequence.words(i / 4);
    float four[4];
    for (size_t pair = 0; pair < 4; pair += 2) {
      // In (0, 1], so that the logarithm is finite.
      const float radius = std::sqrt(-2.0f * std::log(static_cast<float>((bits[pair] >> 8) + 1) * kUnit));
      const float angle = 2 * std::numbers::pi_v<float> * (static_cast<float>(bits[pair + 1] >> 8) * kUnit);
      four[pair] = radius * std::cos(angle);
      four[pair + 1] = radius * std::sin(angle);
    }
    for (size_t k = 0; k < 4 && i + k < values.size(); ++k) values[i + k] = four[k];
  }
}

void fill_uniform(std::span<float> values, uint64_t seed, uint64_t stream) {
  const PhiloxSequence sequence(seed, stream);
  for (size_t i = 0; i < values.size(); i += 4) {
    const auto bits = sequence.words(i / 4);
    for (size_t k = 0; k < 4 && i + k < values.size(); ++k) values[i + k] = static_cast<float>(bits[k] >> 8) * kUnit;
  }
}

void fill_integers(std::span<int64_t> values, int64_t bound, uint64_t seed, uint64_t stream) {
  const PhiloxSequence sequence(seed, stream);
  for (size_t i = 0; i < values.size(); i += 2) {
    const auto bits = sequence.words(i / 2);
    for (size_t k = 0; k < 2 && i + k < values.size(); ++k) {
      const uint64_t wide = uint64_t{bits[2 * k]} << 32 | bits[2 * k + 1];
      // The high half of a product maps 64 bits onto [0, bound); its bias is below bound / 2^64.
      __extension__ using Wide = unsigned __int128;
      values[i + k] = static_cast<int64_t>(static_cast<uint64_t>(Wide{wide} * static_cast<uint64_t>(bound) >> 64));
    }
  }
}

}  // namespace sheaf
