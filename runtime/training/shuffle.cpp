#include "runtime/training/shuffle.h"

#include "runtime/base/philox.h"

#include <numeric>
#include <utility>

namespace sheaf {

void epoch_order(std::span<int64_t> order, bool shuffled, uint64_t seed, int64_t epoch) {
  std::iota(order.begin(), order.end(), int64_t{0});
  if (!shuffled) return;
  const PhiloxSequence sequence(seed, stream_of("shuffle") + static_cast<uint64_t>(epoch));
  for (uint64_t left = order.size(); left > 1; --left) {
    const auto words = sequence.words(left / 2);
    const size_t half = left % 2 * 2;
    const uint64_t random = uint64_t{words[half]} << 32 | words[half + 1];
    // The high half of the product is uniform below `left`, except for a bias under left / 2^64.
    const auto chosen = static_cast<uint64_t>(static_cast<unsigned __int128>(random) * left >> 64);
    std::swap(order[left - 1], order[chosen]);
  }
}

}  // namespace sheaf
