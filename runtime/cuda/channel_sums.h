// Launches of runtime/cuda/kernels/channels.cu and convert.cu: sums of a tensor by channel, batch norm with them, widening.
#pragma once

#include "runtime/cuda/own_launch.h"

namespace sheaf::cuda {

// `kernels` null (the binding is only planned): only the scratch memory is taken. They throw OperationError.

/// sums[c] = Σ x over all dims but the channels, in f32 and in an order that depends only on the sizes. x: dims [N, C, s…],
/// plain or with channels last; f32, bf16 or f16.
void add_channel_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, MemoryRef sums, MemoryRef x, DType dtype,
                      const Dims& dims, bool channels_last, size_t& scratch_bytes);

/// sums[c] = Σ x[r, c] over the rows of x [rows, columns] (f32, bf16, f16), in f32 and in an order that depends only on the
/// sizes. Takes scratch.
void add_column_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, MemoryRef sums, MemoryRef x, DType dtype,
                     int64_t rows, int64_t columns, size_t& scratch_bytes);

/// y = x; `dtype`, bf16 or f16, is x's type (widen) or y's (narrow); the other is f32.
KernelCall widen_call(OwnKernels& kernels, MemoryRef y, MemoryRef x, DType dtype, int64_t count);
KernelCall narrow_call(OwnKernels& kernels, MemoryRef y, MemoryRef x, DType dtype, int64_t count);

/// A batch norm in any format; [N, C, s…]. Statistics, weight and bias are f32 of shape [C]; absent ones are left out.
/// `mask`: 1 bit per element (mask_bytes()), set where ReLU passes its input.
struct BatchNormCall {
  DType dtype = DType::float32;
  Dims dims;
  bool channels_last = false;
  float eps = 0;
  MemoryRef x, mean, var, weight, mask;
  MemoryRef bias, residual, y;  ///< forward: y = relu(norm + residual); mean and var are made, var biased
  bool relu = false;
  bool given = false;  ///< forward: mean and var are there already; only by vectors
  MemoryRef slopes;    ///< backward: Left::slopes (runtime/bind/fuse_norms.h), of which dx alone is made; only by vectors
  MemoryRef x_bias;    ///< mean is of x + x_bias, one f32 per channel; nothing else depends on it
  MemoryRef dy, dx, dweight, dbias;  ///< backward; dweight and dbias may be in scratch
  MemoryRef more;                    ///< added to dy first; then there is `gradient` too
  MemoryRef gradient;                ///< dy, and more, where the mask is set, for others
  /// Blocks that are there at once (OwnKernels::most_together()), and where they meet: none, or no word, where each pass is a launch.
  unsigned most_together = 0;
  std::shared_ptr<const unsigned> word;
};
size_t mask_bytes(const Dims& dims);

/// `call` with the parameters that kernels of either format have before the sizes. They make y, and the mask, by mean and var.
KernelCall normalizing(KernelCall call, const BatchNormCall& norm);
/// The same of kernels that make dx, and the gradient for others, by the sums in dbias and dweight.
KernelCall sloping(KernelCall call, const BatchNormCall& norm);

/// What a batch norm puts into the queue: launches, bytes that it reads a second time, and how often all its blocks meet.
struct NormWork {
  int launches = 0;
  double bytes_again = 0;
  int meetings = 0;
};
/// By vectors if possible (runtime/cuda/vector_norm.h). Both make the same masks.
NormWork add_batch_norm_train(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                              size_t& scratch_bytes);
NormWork add_batch_norm_backward(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                                 size_t& scratch_bytes);

}  // namespace sheaf::cuda
