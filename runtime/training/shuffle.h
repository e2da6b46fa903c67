// The order of rows in an epoch.
#pragma once

#include <cstdint>
#include <span>

namespace sheaf {

/// Fills `order` with 0 … order.size()-1 as epoch number `epoch` (from 0) takes them: in order, or if `shuffled` permuted by
/// Fisher and Yates's method with Philox's numbers, a function only of seed, epoch and size.
void epoch_order(std::span<int64_t> order, bool shuffled, uint64_t seed, int64_t epoch);

}  // namespace sheaf
