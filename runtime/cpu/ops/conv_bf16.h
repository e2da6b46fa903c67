// Convolutions and their gradients on bf16 values, summed in f32 (docs/precision.md).
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// x, weight, residual and y are bf16, the bias f32.
Prepared prepare_conv_bf16(const Operation& operation, const ConvShape& shape);
/// dy, weight and dx are bf16.
Prepared prepare_conv_backward_data_bf16(const Operation& operation, const ConvShape& shape);
/// x and dy are bf16; dweight and dbias, sums, are f32.
Prepared prepare_conv_backward_weight_bf16(const Operation& operation, const ConvShape& shape);

}  // namespace sheaf
