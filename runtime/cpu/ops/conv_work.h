// What a convolution computes, and at which rates a thread does: what its costs are made of (conv_cost.cpp).
#pragma once

#include "runtime/steps/conv_shape.h"
#include "runtime/cpu/ops/operation.h"

namespace sheaf {

inline constexpr double kMemoryRate = 15e9;    ///< a thread's, bytes/s, for data in memory
inline constexpr double kCacheRate = 50e9;     ///< the same for data in the last cache
inline constexpr double kCoreCache = 1 << 20;  ///< bytes, of a core's second cache
inline constexpr double kMatrixRate = 1100e9;  ///< AMX, of bf16 values

/// Multiplications and additions that a thread makes in a second, of operands in the first cache.
double vector_rate(bool bf16);

/// What is to be computed.
struct Work {
  double dense = 1, met = 1;  ///< flops, with the products of padding and without
  double elements_x, elements_y;
  int64_t images;
  int64_t channels;  ///< the fewer of both sides
  int64_t width;     ///< of y
  bool strided, pointwise, bf16;
  bool transposed;  ///< a transposed convolution, whose y is dx here
  bool depthwise;   ///< each channel by itself
  bool three;       ///< the kernel is three wide and without dilation
  bool fixed;       ///< in inference, where the weight stays
  double threads;

  Work(const Operation& operation, const ConvShape& shape);
};

/// c² / (c² + half²): a share that grows with the channels, one half at `half`.
inline double grows(int64_t channels, double half) {
  const double square = double(channels) * double(channels);
  return square / (square + half * half);
}

}  // namespace sheaf
