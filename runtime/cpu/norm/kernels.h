// The arithmetic of batch norm on rows of channels, for one instruction set.
#pragma once

#include "runtime/base/dtype.h"

#include <cstdint>

namespace sheaf::norm {

/// y = (x − mean) · scale + shift, by channel.
struct Affine {
  const float *mean, *scale, *shift;
};

/// x, y, dy and dx are [rows, channels], of f32 or bf16 values depending on the table; channels are a multiple of `lanes`. Nothing needs
/// to be aligned. `relu`: y below 0 becomes 0 and NaN stays; dy counts where y isn't 0 or below.
struct KernelTable {
  const char* instructions;  ///< "x86-64-v4"
  int lanes;                 ///< of f32 in a register
  /// Each channel's mean and sum of squared deviations from it, over these rows and the `before` that `mean` and `squares` are of. (Chan,
  /// Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979) Reads the rows twice: they
  /// should fit into the first cache.
  void (*statistics)(const void* x, int64_t rows, int64_t channels, int64_t before, float* mean, float* squares);
  void (*normalise)(const void* x, void* y, int64_t rows, int64_t channels, const Affine& affine, bool relu);
  /// sum += Σ dy, product += Σ dy · (x − mean).
  void (*add_sums)(const void* x, const void* dy, int64_t rows, int64_t channels, const Affine& affine, bool relu, float* sum,
                   float* product);
  /// dx = scale · (dy − lift − (x − mean) · tilt); may be dy's memory.
  void (*gradient)(const void* x, const void* dy, void* dx, int64_t rows, int64_t channels, const Affine& affine,
                   const float* lift, const float* tilt, bool relu);
};

/// The best table for values of `dtype` and this many channels (ChannelTables); null: none.
const KernelTable* kernels_of(DType dtype, int64_t channels);

namespace v4 {
extern const KernelTable f32, bf16;
}
namespace v3 {
extern const KernelTable f32, bf16;
}

}  // namespace sheaf::norm
