// Random numbers by Philox: element i depends only on (seed, stream, i);
// stream_of (runtime/base/philox.h) gives a name its stream.
#pragma once

#include <cstdint>
#include <span>

namespace sheaf {

/// Normal with mean 0 and standard deviation 1 (Box-Muller).
void fill_normal(std::span<float> values, uint64_t seed, uint64_t stream);
/// Uniform in [0, 1).
void fill_uniform(std::span<float> values, uint64_t seed, uint64_t stream);
/// Uniform among 0 … bound-1; `bound` is at least 1.
void fill_integers(std::span<int64_t> values, int64_t bound, uint64_t seed, uint64_t stream);

}  // namespace sheaf
