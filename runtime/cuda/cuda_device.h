// A GPU as a sheaf device.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/device/device.h"

#include <memory>

namespace sheaf::cuda {

/// GPU `device` (counted from 0, less than backend->driver().devices()) of a backend. Its library is opened when the first
/// operation needs it. Make one for each GPU and backend: two have the same memory_space(). `planned`: DeviceInfo's.
std::shared_ptr<Device> make_cuda_device(std::shared_ptr<Backend> backend, int device, std::string planned = {});

}  // namespace sheaf::cuda
