// Joins what several measurements of the same devices found (internal to tools/estimate).
#pragma once

#include "runtime/device/description.h"

#include <vector>

namespace sheaf {

/// The first of `passes`, of which there is at least one, with the median of all passes for each measured figure; of an even number the
/// lower middle. All have the same operations and numbers of channels, in the same order.
DeviceDescription median_of(const std::vector<DeviceDescription>& passes);

}  // namespace sheaf
