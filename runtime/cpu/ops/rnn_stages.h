// The pieces of a recurrent gradient, which run one after the other.
#pragma once

#include <cstring>
#include <variant>
#include <vector>

#include "runtime/cpu/ops/rnn_cell.h"
#include "runtime/cpu/ops/stages.h"

namespace sheaf {

struct Copy {
  BufferRef from, to;
  size_t bytes;
  void run(void* const* buffers, void* scratch) const {
    std::memmove(to.resolve(buffers, scratch), from.resolve(buffers, scratch), bytes);
  }
};

/// The other direction's part of a gradient.
struct Add {
  BufferRef from, to;
  int64_t count;
  void run(void* const* buffers, void* scratch) const {
    const auto* part = reinterpret_cast<const float*>(from.resolve(buffers, scratch));
    auto* sum = reinterpret_cast<float*>(to.resolve(buffers, scratch));
    for (int64_t i = 0; i < count; ++i) sum[i] += part[i];
  }
};

/// Turns the gradient of oneDNN's one bias into that of PyTorch's two (the reverse of BiasSum).
struct BiasSplit {
  BufferRef sum, ih, hh;
  int64_t hidden, gates;
  void run(void* const* buffers, void* scratch) const {
    const auto* d = reinterpret_cast<const float*>(sum.resolve(buffers, scratch));
    auto* a = reinterpret_cast<float*>(ih.resolve(buffers, scratch));
    auto* b = reinterpret_cast<float*>(hh.resolve(buffers, scratch));
    const int64_t h = hidden;
    for (int64_t i = 0; gates != 3 && i < gates * h; ++i) a[i] = b[i] = d[i];
    for (int64_t i = 0; gates == 3 && i < h; ++i) {
      a[i] = b[i] = d[h + i];      // r
      a[h + i] = b[h + i] = d[i];  // z
      a[2 * h + i] = d[2 * h + i];
      b[2 * h + i] = d[3 * h + i];
    }
  }
};

using Stage = std::variant<Zero, Copy, Add, BiasSum, BiasSplit, DnnlCall>;

using Stages = StagedExecutable<Stage>;

}  // namespace sheaf
