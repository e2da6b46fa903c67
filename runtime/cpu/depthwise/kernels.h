// The arithmetic of depthwise convolutions' gradients by weight, for one instruction set.
#pragma once

#include "runtime/base/dtype.h"

#include <cstdint>

namespace sheaf::depthwise {

/// A convolution of each channel by itself, of images with channels last. Along an axis y[i] meets x[i · stride − begin + tap · dilation],
/// unless that is padding.
struct Window {
  struct Axis {
    int64_t x, y, taps, stride, dilation, begin;
  };
  /// Some pixels of a row of y.
  struct Range {
    int64_t begin, end;
  };
  Axis height, width;
  int64_t channels;
  const Range* met;  ///< by taps of the width: what meets no padding

  int64_t taps() const { return height.taps * width.taps; }
  /// Rows of x that a row of y can meet, with those between taps.
  int64_t reach() const { return (height.taps - 1) * height.dilation + 1; }
};

/// x and dy are of f32 or bf16 values depending on the table; nothing needs to be aligned.
struct KernelTable {
  const char* instructions;  ///< "x86-64-v4"
  int lanes;                 ///< of f32 in a register
  /// sums [taps, lanes] += Σ dy · x, and, unless it is null, bias [lanes] += Σ dy, over rows `begin` to `end` of an image's y, for a
  /// register of channels from `channel` on. A row is added up by itself first. `rows`: memory for row_floats().
  void (*add_rows)(const void* x, const void* dy, const Window& window, int64_t begin, int64_t end, int64_t channel,
                   float* rows, float* sums, float* bias);

  /// For the rows of x that a row of y meets and for that one, of a register of channels: in their tensors those lie as far apart as there
  /// are channels, and few at a time would find room in the first cache.
  int64_t row_floats(const Window& window) const { return (window.reach() * window.width.x + window.width.y) * lanes; }
};

/// The best table for values of `dtype` and this many channels (ChannelTables); null: none.
const KernelTable* kernels_of(DType dtype, int64_t channels);

namespace v4 {
extern const KernelTable f32, bf16;
}
namespace v3 {
extern const KernelTable f32, bf16;
}

}  // namespace sheaf::depthwise
