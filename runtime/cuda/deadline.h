// How long a wait for a GPU may take.
#pragma once

#include <chrono>

namespace sheaf::cuda {

/// A wait ends with an error when for that long nothing that was waited for has got done. 300 s unless set; of the whole
/// process, since a device's queues may wait for each other. 0 or less: no time at all. May be called from any thread.
void set_deadline(std::chrono::duration<double> seconds);
std::chrono::duration<double> deadline();

}  // namespace sheaf::cuda
