// Launches of runtime/cuda/kernels/channels.cu and convert.cu: sums of a tensor by channel, batch norm by them, widening.
#pragma once

#include "runtime/cuda/own_launch.h"

namespace sheaf::cuda {

// `kernels` null (the binding is only planned): only the scratch memory is taken. They throw OperationError.

/// sums[c] = Σ x over all dims but the channels, in f32 and in an order that depends only on the sizes. x: dims [N, C, s…],
/// plain or with channels last; f32, bf16 or f16.
void add_channel_sums(std::vector<KernelCall>& calls, OwnKernels* kernels, MemoryRef sums, MemoryRef x, DType dtype,
                      const Dims& dims, bool channels_last, size_t& scratch_bytes);

/// y = x; `dtype`, bf16 or f16, is what x is and y isn't (widen), or y is and x isn't (narrow); the other is f32.
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
  MemoryRef dy, dx, dweight, dbias;  ///< backward; dweight and dbias may be in scratch
  MemoryRef gradient;                ///< dy where the mask is set, for others
};
size_t mask_bytes(const Dims& dims);
void add_batch_norm_train(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                          size_t& scratch_bytes);
void add_batch_norm_backward(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                             size_t& scratch_bytes);

/// var = max(1 / inverse² - eps, 0), and the other way round; [channels], f32.
KernelCall variance_of_inverse_call(OwnKernels& kernels, MemoryRef var, MemoryRef inverse, int64_t channels, float eps);
KernelCall inverse_of_variance_call(OwnKernels& kernels, MemoryRef inverse, MemoryRef var, int64_t channels, float eps);
KernelCall set_channels_call(OwnKernels& kernels, MemoryRef to, int64_t channels, float value);

}  // namespace sheaf::cuda
