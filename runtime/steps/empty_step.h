// Steps on an empty chunk, for which no backend's library is called.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// Whether all of the step's results have zero elements. A step without results runs for its effect, so it isn't empty.
bool has_nothing_to_do(const PrepareRequest& request);

}  // namespace sheaf
