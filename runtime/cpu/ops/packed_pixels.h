// Activations as products take them for a, where they don't as they are stored (KernelTable::pack_run).
#pragma once

#include "runtime/cpu/winograd/kernels.h"

#include <algorithm>
#include <array>
#include <span>

namespace sheaf {

/// A thread's packed pixels, those used last: neighbouring pixels of a convolution's result see some of the same.
class PackedPixels {
 public:
  static constexpr int64_t most = 96;

  /// `count` places, `most` or fewer, for runs of `run` activations each.
  PackedPixels(const winograd::KernelTable& kernels, float* memory, int64_t count, int64_t run)
      : kernels_(kernels), memory_(memory), run_(run), places_(all_.data(), size_t(count)) {}

  /// Begins a product's call, whose runs, no more than there are places, all stay until the next one begins.
  void begin() { ++call_; }

  /// `count` activations packed; `from` alone tells one run from another.
  const float* get(const void* from, int64_t count) {
    auto place = std::ranges::find(places_, from, &Place::from);
    if (place == places_.end()) {
      place = std::ranges::min_element(places_, {}, &Place::call);
      place->from = from;
      kernels_.pack_run(from, memory_of(*place), count);
    }
    place->call = call_;
    return memory_of(*place);
  }

 private:
  struct Place {
    const void* from = nullptr;
    int64_t call = 0;  ///< the last that used it
  };
  float* memory_of(const Place& place) const { return memory_ + (&place - places_.data()) * run_; }

  const winograd::KernelTable& kernels_;
  float* memory_;
  int64_t run_, call_ = 0;
  std::array<Place, most> all_;
  std::span<Place> places_;
};

}  // namespace sheaf
