// nn.fused → a kernel: an element-wise chain, or a softmax or norm with the element-wise ops around it.
#pragma once

#include "codegen/kernels/kernel_module.h"
#include "ir/Nn/Nn.h"
#include "ir/Analysis/ShapeAnalysis.h"

namespace sheaf::codegen {

/// An operand of an op, by its number, that a kernel of it takes in a narrower type.
struct NarrowOperand {
  unsigned number = 0;
  DType dtype = DType::bfloat16;
};

/// The kernel of a fused group; `operands` are the tensors that it reads, in its order. `narrow`: only for an element-wise
/// chain.
Result<kernels::KernelUse> fused_kernel(kernels::KernelModule& module, nn::FusedOp fused, const ir::ShapeAnalysis& shapes,
                                        std::vector<mlir::Value>& operands, const NarrowOperand* narrow = nullptr);

}  // namespace sheaf::codegen
