// The "training" section: targets, loss, optimizer, schedule, clipping, metrics.
#pragma once

#include "frontend/model.h"
#include "frontend/value.h"

namespace sheaf::frontend {

/// Reads and checks the section. `outputs_known` is false if the layers have problems: then names of values that the loss takes
/// are not checked.
Training read_training(const LocatedNode& node, const Model& model, bool outputs_known, Problems& problems);

}  // namespace sheaf::frontend
