// nn ops → the specs of their kernels.
#pragma once

#include "codegen/kernels/kernel_module.h"
#include "ir/Analysis/ShapeAnalysis.h"

namespace sheaf::codegen {

/// The kernel of an op that has one. Fills `operands` with the SSA values whose buffers the kernel reads, in its order (a value
/// may appear twice: once for each way it is broadcast).
Result<kernels::KernelUse> add_kernel_for(kernels::KernelModule& module, mlir::Operation& op, const ir::ShapeAnalysis& shapes,
                                          std::vector<mlir::Value>& operands);

}  // namespace sheaf::codegen
