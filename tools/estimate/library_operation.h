// Operations by whose rates others are estimated: what calibration runs.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/device/operation.h"
#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

/// A library operation by itself, on plain operands of values 0, 1, ….
struct LibraryOperation {
  Step step;
  std::vector<TensorSpec> inputs, outputs;
};

/// Of two square matrices.
LibraryOperation product(int64_t side, DType dtype);

/// A convolution of `channels` channels, 3×3, on images of `side` × `side`, its gradients, and a transposed one, 4×4 with a stride of 2. The
/// gradient of a weight is f32 (docs/precision.md).
std::vector<LibraryOperation> convolutions(int64_t rows, int64_t side, int64_t channels, int64_t groups, DType dtype);

/// A linear layer and its gradients, whose products are narrower than tall or the reverse, as most are.
std::vector<LibraryOperation> linears(DType dtype);

/// Batch norm of a training step with a relu, as most have one, and its gradient, which reads what the former has `kept`.
LibraryOperation batch_norm(const TensorSpec& image, const Json& attributes);
LibraryOperation batch_norm_backward(const TensorSpec& image, const TensorSpec& kept, const Json& attributes);

/// An LSTM of 16 time steps, whose products have few rows each: `op` lstm in inference, lstm_train in training; and its gradient, which reads
/// what the latter has `kept`.
LibraryOperation lstm(Op op);
LibraryOperation lstm_backward(const TensorSpec& kept);

}  // namespace sheaf
