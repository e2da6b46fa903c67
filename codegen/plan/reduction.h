// Sums and means as kernels.
#pragma once

#include "codegen/kernels/spec.h"
#include "ir/Analysis/ShapeAnalysis.h"

namespace sheaf::codegen {

/// The dimensions of an nn.sum, nn.mean or nn.extremum.
llvm::SmallVector<int64_t> reduced_dims(mlir::Operation& op);

/// The kernel of an nn.sum, nn.mean or nn.extremum over some dimensions, without fusions and description.
Result<kernels::MeanSpec> reduction_spec(mlir::Operation& op, const ir::ShapeAnalysis& shapes);

}  // namespace sheaf::codegen
