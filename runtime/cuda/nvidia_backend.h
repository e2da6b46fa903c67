// NVIDIA's driver and libraries as the process's backend.
#pragma once

#include "runtime/cuda/library.h"

#include <memory>

namespace sheaf::cuda {

/// The process's backend; opened on first use and never closed. Errors: there is no driver, or it shows no GPU.
Result<std::shared_ptr<Backend>> nvidia_backend();

}  // namespace sheaf::cuda
