// From a recording to its profile (internal to runtime/trace).
#pragma once

#include "runtime/machine/tick_clock.h"
#include "sheaf/profile.h"
#include "runtime/trace/recording.h"

namespace sheaf {

/// For a recording that has steps.
Profile profile_of(const Recording& recording, const TickScale::Fixed& scale);

}  // namespace sheaf
