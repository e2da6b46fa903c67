// The numbers of a Constant.
#pragma once

#include "frontend/layer_table.h"

namespace sheaf::frontend {

/// Brings a Constant's arguments into one form: `shape`, and `data` with the elements' bytes in base64, not compressed. Refuses
/// lists that are no tensor, numbers that the dtype can't hold, and data of another size than the shape's.
void check_constant(LayerCheck& layer);

}  // namespace sheaf::frontend
