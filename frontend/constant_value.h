// The numbers of a Constant.
#pragma once

#include "frontend/layer_table.h"

namespace sheaf::frontend {

/// Brings a Constant's arguments into one form: `shape`, and `data` with the elements' bytes in base64, not compressed. Rejects
/// lists that aren't a tensor, numbers that the dtype can't hold, and data whose size doesn't match the shape.
void check_constant(LayerCheck& layer);

}  // namespace sheaf::frontend
