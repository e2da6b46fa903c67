// An absent GPU, to plan bindings for: operations are chosen and memory is laid out as on a GPU, as far as known
// without one. Nothing can be allocated or run.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/device/device.h"

#include <memory>
#include <string>

namespace sheaf::cuda {

struct GpuModel;

/// Prepares operations for a GPU that is never opened (its executables are null).
struct PlanningLibrary {
  std::shared_ptr<Library> library;
  bool fuses_norms = false;  ///< DeviceInfo's
  std::string no_engines;    ///< why cuDNN chooses no engines, so that their workspaces aren't counted; empty: it does
};

/// The process's, for GPUs of `model`. With NVIDIA's headers in the build: their libraries' formats, and
/// cuDNN's engines if cuDNN can choose them. Without: library operations on plain tensors, without workspaces.
const PlanningLibrary& planning_library(const GpuModel& model);

/// A driver of absent GPUs of `model`: kernels can be "loaded", but not launched.
Driver& planning_driver(const GpuModel& model);

/// The GPU that is planned for: cuda:`index`. `why`: why none is opened; may be empty. `model`: a key of gpu_models(); any
/// other: the first of them.
std::shared_ptr<Device> planned_device(int index, const std::string& why, const std::string& model = {});

}  // namespace sheaf::cuda
