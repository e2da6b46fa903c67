// Launches of runtime/cuda/kernels/norm.cu and norm_gradient.cu: batch norm and its gradient by vectors of eight channels.
#pragma once

#include "runtime/cuda/channel_sums.h"

namespace sheaf::cuda {

/// Whether they can compute `norm`: channels last, a multiple of eight of them, with rows.
bool goes_by_vectors(const BatchNormCall& norm);

// Two launches each, or one where its blocks are there at once. `kernels` null: only scratch memory is taken. They throw OperationError.

NormWork add_vector_norm_train(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                               size_t& scratch_bytes);
NormWork add_vector_norm_backward(std::vector<KernelCall>& calls, OwnKernels* kernels, const BatchNormCall& norm,
                                  size_t& scratch_bytes);

/// Statistics of a batch norm from `sums`, f32 [2, C], Σ x and Σ x² over `values` values of each channel. Also Left::moments and Left::factors
/// (runtime/bind/fuse_norms.h), the latter in `dtype`, where they have places.
struct StatisticsCall {
  DType dtype = DType::float32;
  int64_t channels = 0, values = 0;
  float eps = 0;
  MemoryRef sums, x_bias, weight, bias;
  MemoryRef mean, var, moments = {}, factors = {};
};
KernelCall statistics_call(OwnKernels& kernels, const StatisticsCall& made);

}  // namespace sheaf::cuda
