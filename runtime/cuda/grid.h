// Limits of a kernel's grid, the same on all of NVIDIA's GPUs.
#pragma once

#include <cstddef>

namespace sheaf::cuda {

inline constexpr size_t kMostGridRows = 65535;  ///< blocks along y, and along z

}  // namespace sheaf::cuda
