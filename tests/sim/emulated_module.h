// Kernels of virtual GPUs: PTX, on the emulator.
#pragma once

#include "tests/sim/sim_driver.h"

namespace sheaf::sim {

/// The result of Driver::load() for PTX. Races between threads are faults, and blocks run in either order.
Result<std::shared_ptr<const KernelCode>> emulated_module(const std::string& ptx);

}  // namespace sheaf::sim
