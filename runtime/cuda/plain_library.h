// Library operations in a build without NVIDIA's headers: their operands and results, not how they work.
#pragma once

#include "runtime/cuda/library.h"
#include "runtime/cuda/own_operations.h"

namespace sheaf::cuda {

/// Prepares every step for planning: the project's own operations as on a GPU, all others on plain tensors, without workspaces
/// (Prepared::uncertain says so).
class PlainLibrary final : public Library {
 public:
  Result<void> supports(Op op, DType dtype) override { return supports_gpu_op(op, dtype); }
  Result<Prepared> prepare(const PrepareRequest& request) override;
};

}  // namespace sheaf::cuda
