// Steps on an empty chunk, of which every backend's library makes nothing.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// Whether all of the step's results have zero elements. A step without results is run for what it finds, so it isn't one.
bool has_nothing_to_do(const PrepareRequest& request);

}  // namespace sheaf
