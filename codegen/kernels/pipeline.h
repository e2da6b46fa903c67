// From a module of kernels to the LLVM dialect.
#pragma once

#include "mlir/Pass/PassManager.h"

namespace sheaf::kernels {

/// Adds the passes, in the order that pipeline.cpp explains.
void build_kernel_pipeline(mlir::OpPassManager& passes);
/// The same for kernels that have a GpuSchedule.
void build_gpu_kernel_pipeline(mlir::OpPassManager& passes);

}  // namespace sheaf::kernels
