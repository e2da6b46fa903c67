// The rates of the CPU's library operations.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/device/description.h"

#include <map>

namespace sheaf {

/// Arithmetic per second of all threads together.
struct OperationRates {
  double product = 0;  ///< a product of matrices in the caches: the most that any operation reaches
  /// Linear layers, convolutions of 64 channels, and their gradients; for f32 also batch norm of a training step and recurrent layers.
  /// Their operands come from memory, as they do in a step.
  std::map<Op, double> operations;
  std::map<Op, ChannelRates> by_channels;         ///< convolutions of other numbers of channels
  std::map<Op, CandidateRates> fast_by_channels;  ///< by the candidates that only fast numerics allow
};

/// Measures them on operands of `dtype` with `threads` threads, in the formats that each prefers; some seconds. Errors: there is no
/// memory; the CPU doesn't compute with `dtype`.
Result<OperationRates> operation_rates(int threads, DType dtype);

/// Seconds of an operation that has next to nothing to compute.
Result<double> operation_overhead(int threads);

}  // namespace sheaf
