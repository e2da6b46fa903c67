// The order of rows in an epoch.
#pragma once

#include <cstdint>
#include <span>

namespace sheaf {

/// Fills `order` with 0 … order.size()-1 in the order of epoch number `epoch` (from 0): ascending, or if `shuffled` permuted by
/// Fisher and Yates's method with Philox's numbers, depending only on seed, epoch and size.
void epoch_order(std::span<int64_t> order, bool shuffled, uint64_t seed, int64_t epoch);

}  // namespace sheaf
