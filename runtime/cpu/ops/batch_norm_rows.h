// Batch norm of a training step, and its gradient, in the project's own loops over rows of channels.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

struct BatchNorm {
  DnnlDims dims;  ///< x's; [N, C] as [N, C, 1, 1], [N, C, L] as [N, C, 1, L]
  DnnlDims channels;
  float eps = 0;
  bool affine = false, relu = false;
};

/// The layouts of x, y and their gradients: for oneDNN, and as tensors of the step.
struct BatchNormLayout {
  DnnlDesc desc;
  TensorSpec tensor;
};

/// Whether these loops take x as it lies: with its channels last, whatever the order of the other dimensions, and with as many channels as
/// fill the CPU's registers. The gradient finds the same of the same layout, so it always reads the workspace of its own kind.
bool batch_norm_rows_fit(const BatchNorm& norm, const DnnlDesc& x);

Prepared prepare_batch_norm_rows(const Operation& operation, const BatchNorm& norm, const BatchNormLayout& layout);
Prepared prepare_batch_norm_rows_backward(const Operation& operation, const BatchNorm& norm, const BatchNormLayout& layout);

}  // namespace sheaf
