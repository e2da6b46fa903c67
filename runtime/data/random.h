// Random numbers by Philox: element i is a function of (seed, stream, i) alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sheaf {

/// A generator's stream number for `name` (FNV-1a), so that values of different names differ.
uint64_t random_stream(std::string_view name);

/// Normal with mean 0 and standard deviation 1 (Box-Muller).
void fill_normal(std::span<float> values, uint64_t seed, uint64_t stream);
/// Uniform in [0, 1), multiples of 2^-24.
void fill_uniform(std::span<float> values, uint64_t seed, uint64_t stream);
/// Uniform among 0 … bound-1; `bound` is at least 1.
void fill_integers(std::span<int64_t> values, int64_t bound, uint64_t seed, uint64_t stream);

}  // namespace sheaf
