// Philox 4x32-10, a counter-based random generator (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011): the numbers at a counter depend only on it and the key, so any part of a
// sequence can be drawn anywhere.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace sheaf {

/// Four random words for a 128-bit counter under a 64-bit key.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, uint64_t key) {
  auto low = static_cast<uint32_t>(key), high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ low, static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ high, static_cast<uint32_t>(a)};
    low += 0x9E3779B9;
    high += 0xBB67AE85;
  }
  return counter;
}

/// A separate sequence of random numbers for each (seed, stream).
class PhiloxSequence {
 public:
  PhiloxSequence(uint64_t seed, uint64_t stream) : seed_(seed), stream_(stream) {}

  /// Four words at `position` of the sequence.
  std::array<uint32_t, 4> words(uint64_t position) const {
    return philox({static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(stream_),
                   static_cast<uint32_t>(stream_ >> 32)},
                  seed_);
  }
  /// Uniform in [0, 1), 32 random bits.
  static double unit(uint32_t word) { return word * 0x1p-32; }
  /// A standard normal number from two words (Box and Muller).
  static double normal(uint32_t a, uint32_t b) {
    return std::sqrt(-2 * std::log((a + 0.5) * 0x1p-32)) * std::cos(6.283185307179586 * unit(b));
  }

 private:
  uint64_t seed_;
  uint64_t stream_;
};

/// A number for a name, the same everywhere (FNV-1a): the stream from which the name's numbers are drawn.
inline uint64_t stream_of(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace sheaf
