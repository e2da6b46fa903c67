// NVIDIA's driver, opened at run time.
#pragma once

#include "runtime/cuda/driver.h"

#include <memory>

namespace sheaf::cuda {

/// Errors: libcuda.so.1 cannot be opened, it lacks a function, or it finds no GPU; in its own words.
Result<std::unique_ptr<Driver>> open_nvidia_driver();

}  // namespace sheaf::cuda
