// Plans written by hand in the compiler's form: logical programs only.
#pragma once

#include "runtime/plan/plan.h"

namespace sheaf::samples {

/// DataParallel(Linear(5, 2)), then a Print of the gathered output and the input.
Plan tutorial();

/// A training step of DataParallel(Linear(5, 2)) with a running mean, only as `train_graph`.
Plan training();

/// An embedding on the host, its result transferred to a Linear on device 0.
Plan distributed();

/// DataParallel over devices 1 and 0, split along dimension 1, with output_device 2; `name` is a layer's name.
Plan explicit_devices(const std::string& name = "net");

/// ResNet-18 for [batch, 1, 28, 28] in DataParallel, layer for layer as in the d2l model.
Plan resnet18();

}  // namespace sheaf::samples
