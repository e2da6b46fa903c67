// Rows that a parallel region splits: which results of an op keep them apart, and which mix them.
#pragma once

#include "ir/Nn/Nn.h"

namespace sheaf::nn {

/// The dimension in which result `result` of the operand's op is cut when the operand is cut along `dim`, or nullopt if the op
/// mixes the parts. SplitOpInterface gives it for result 0; further results may have their rows elsewhere.
std::optional<int64_t> split_result_dim(mlir::OpOperand& operand, unsigned result, int64_t dim);

/// On a function that nn-warn-mixing has warned about: one of its regions mixes what it splits.
inline constexpr llvm::StringLiteral kMixesRows = "nn.mixes_rows";

}  // namespace sheaf::nn
