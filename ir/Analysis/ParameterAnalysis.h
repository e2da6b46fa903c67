// Which values depend on parameters and buffers alone, and so need computing only when weights are set.
#pragma once

#include "mlir/IR/Value.h"

namespace sheaf::ir {

/// Whether `value` (in a dist program, or in the body of an apply) is a parameter, a buffer, or made from such
/// values by ops without side effects.
bool depends_on_parameters_alone(mlir::Value value);

}  // namespace sheaf::ir
