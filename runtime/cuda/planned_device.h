// A GPU that isn't there, to plan bindings for: operations are chosen and memory is laid out as on a GPU, as far as is known
// without one. Nothing can be allocated or run.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/device/device.h"

#include <memory>
#include <string>

namespace sheaf::cuda {

/// What prepares operations for a GPU of `properties` that nobody opens (its executables are null).
struct PlanningLibrary {
  std::shared_ptr<Library> library;
  bool fuses_norms = false;  ///< DeviceInfo's
  std::string no_engines;    ///< why cuDNN chooses no engines, so that their workspaces aren't counted; empty: it does
};

/// The process's, for the properties in assumed_gpu.h. With NVIDIA's headers in the build: their libraries' formats, and
/// cuDNN's engines if cuDNN can choose them. Without: library operations on plain tensors, without workspaces.
const PlanningLibrary& planning_library();

/// The GPU that is planned for: cuda:`index`. `why`: why none is opened.
std::shared_ptr<Device> planned_device(int index, const std::string& why);

}  // namespace sheaf::cuda
