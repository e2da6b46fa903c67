// What a GPU's libraries and driver take long to make: cuDNN's plans, kernels compiled for the GPU at hand (docs/cuda-engines.md, "What is
// kept").
#pragma once

#include "runtime/base/kept_files.h"

namespace sheaf::cuda {

/// The folder `gpu` of the user's cache.
KeptFiles kept_files();

/// Keeps it there. A folder that can't be written gives one warning a process, and no more.
void keep(std::string_view key, std::string_view text);

}  // namespace sheaf::cuda
