// What the convolutions have in common.
#pragma once

#include "runtime/cuda/joined_convolution.h"
#include "runtime/steps/conv_shape.h"
#include "runtime/cuda/vendor/cudnn_operation.h"

namespace sheaf::cuda {

/// A convolution as cuDNN wants it: at least two spatial dims (a first one of size 1 is added to a single one).
struct CudnnConv {
  Dims x, weight, y;  ///< weight [O, I/g, k…]: cuDNN infers the groups from it
  ConvWindow window;
  /// Narrow types and TF32: channels last, for tensor cores. Strict f32: plain, for which cuDNN's engines reorder nothing.
  bool channels_last = false;

  Dims strides(const Dims& dims) const;
  /// The step's tensor, in the convolution's format.
  TensorSpec placed(const TensorSpec& tensor) const;
};

/// `weight`: [O, I/g, k…].
CudnnConv cudnn_conv_of(const StepOperands& operands, const ConvShape& shape, Dims weight);

/// "channels last" or "plain", and why, for explain.
std::string format_reason(const CudnnConv& conv);

/// y = activation(x + bias + residual) by the project's own kernel, in place of x if y is x. y has the convolution's format,
/// its dims are [N, C, s…].
void add_activation_behind(CudnnBuilder& builder, const CudnnConv& conv, const TensorSpec& y, MemoryRef bias,
                           MemoryRef residual, const std::optional<KernelActivation>& activation);

// cudnn_joined.cpp: steps that runtime/bind/join_convolutions.h makes. They throw OperationError where cuDNN has no engine.
Prepared prepare_joined_conv(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context);
Prepared prepare_joined_backward_data(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context);
Prepared prepare_joined_backward_weight(const StepOperands& operands, const CudnnConv& conv, LibraryContext& context);

}  // namespace sheaf::cuda
