// Operations that run the project's own kernels (runtime/cuda/kernels), because no library has them.
#pragma once

#include "runtime/cuda/own_launch.h"
#include "runtime/plan/op.h"

#include <string_view>

namespace sheaf::cuda {

// `kernels` null: the binding is only planned, the executable is null.

/// Between the plain format and channels last, or a copy if both are equal: dtypes of 1, 2, 4 and 8 bytes, up to 5 dims
/// and more. Guardable. Errors: other formats; from and to are not the same tensor.
Result<Prepared> prepare_own_reorder(const TensorSpec& from, const TensorSpec& to, const std::shared_ptr<OwnKernels>& kernels);

// These throw OperationError (runtime/steps/step_operands.h).

/// Between f32 and bf16 or f16, of tensors in one format: rounded to nearest, ties to even. One launch may do several (Device::merge).
Prepared prepare_own_conversion(const TensorSpec& from, const TensorSpec& to, const std::shared_ptr<OwnKernels>& kernels);

/// Device::prepare_numbers().
Prepared prepare_own_numbers(const TensorSpec& bytes, const TensorSpec& to, std::span<const float> numbers,
                             const std::shared_ptr<OwnKernels>& kernels);

/// `reduce`: x0 + x1 + … from left to right, in x0's format; f32, bf16, f16, rounded after each addition. Guardable.
Prepared prepare_own_reduce(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels);

/// `batch_norm_train` and `batch_norm_backward`, with what binding joins with them, in x's present format; f32, bf16, f16. Only this
/// function's backward step reads the workspace of its forward step. Statistics are f32, and have the same bits each time.
Prepared prepare_own_batch_norm(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                const DeviceProperties& gpu);

/// `check_finite`: sets the queue's flag.
Prepared prepare_own_check_finite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels);

/// `nonfinite`: any number of tensors in their present formats, each f32, bf16 or f16, counted by one launch for every 192.
Prepared prepare_own_nonfinite(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                               const DeviceProperties& gpu);

/// max_pool, avg_pool, adaptive_avg_pool, max_pool_train, and the three's gradients, in f32, bf16, f16, with PyTorch's rules,
/// in x's (dy's) present format. `why`: why no library does it.
/// Only this function's max_pool_backward reads the workspace of its max_pool_train; it gives dx the format that x had.
Prepared prepare_own_pooling(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels, const std::string& why);
bool is_own_pool_workspace(const TensorSpec& tensor);

/// One of all these, the reorder too, with the reasons that go with them.
using PrepareOwn = Result<Prepared> (*)(const PrepareRequest& request, const std::shared_ptr<OwnKernels>& kernels,
                                        const DeviceProperties& gpu);
/// Null: the project has no kernel for it.
PrepareOwn find_own_operation(Op op);

/// As Device::supports(), for a GPU with cuDNN and cuBLASLt.
Result<void> supports_gpu_op(Op op, DType dtype);

/// An operation on an empty chunk: all outputs have zero elements, so there is nothing to compute. `planned`: without an
/// executable.
Prepared prepare_nothing(const PrepareRequest& request, bool planned);

}  // namespace sheaf::cuda
