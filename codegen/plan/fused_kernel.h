// nn.fused → a kernel: an element-wise chain, or a softmax or norm with the element-wise ops around it.
#pragma once

#include "codegen/kernels/kernel_module.h"
#include "ir/Nn/Nn.h"
#include "ir/Analysis/ShapeAnalysis.h"

namespace sheaf::codegen {

/// The kernel of a fused group; `operands` are the tensors that it reads, in its order.
Result<kernels::KernelUse> fused_kernel(kernels::KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                                        std::vector<mlir::Value>& operands);

}  // namespace sheaf::codegen
