// A clock cheap enough to read around every operation: the processor's time stamp counter, which all cores of
// today's machines share and which runs at one rate whatever their clocks do. On other machines, std::chrono's steady clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace sheaf {

/// The current time, in ticks of unknown length since an unknown moment.
inline int64_t ticks() {
#if defined(__x86_64__)
  return static_cast<int64_t>(__builtin_ia32_rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

/// One moment on both clocks. Between two readings the thread may be held up, for milliseconds on a busy machine: the moment is
/// the middle of the shortest of a few pairs of ticks around a reading of the other clock.
struct Moment {
  int64_t at = 0;
  std::chrono::steady_clock::time_point time;

  static Moment now() {
    Moment best;
    int64_t shortest = 0;
    for (int tries = 0; tries < 5; ++tries) {
      const int64_t before = ticks();
      const auto time = std::chrono::steady_clock::now();
      const int64_t took = ticks() - before;
      if (tries > 0 && took >= shortest) continue;
      shortest = took;
      best = {before + took / 2, time};
    }
    return best;
  }
};

/// Converts ticks to nanoseconds since it was made. Ticks are measured against the steady clock over its whole
/// lifetime, at least some milliseconds.
class TickScale {
 public:
  TickScale() : made_(Moment::now()) {}

  /// The scale as known so far; may wait until enough time has passed to know it.
  class Fixed {
   public:
    int64_t nanoseconds(int64_t at) const { return static_cast<int64_t>(static_cast<double>(at - first_) * per_tick_); }
    double seconds(int64_t duration) const { return static_cast<double>(duration) * per_tick_ * 1e-9; }
    int64_t ticks(double seconds) const { return static_cast<int64_t>(seconds * 1e9 / per_tick_); }

   private:
    friend class TickScale;
    int64_t first_ = 0;
    double per_tick_ = 1;
  };

  Fixed fix() const {
    using std::chrono::steady_clock;
    constexpr std::chrono::milliseconds kLeast(5);
    while (steady_clock::now() - made_.time < kLeast) {
    }
    const Moment now = Moment::now();
    const std::chrono::duration<double, std::nano> passed = now.time - made_.time;
    Fixed fixed;
    fixed.first_ = made_.at;
    fixed.per_tick_ = passed.count() / static_cast<double>(now.at - made_.at);
    return fixed;
  }

 private:
  Moment made_;
};

}  // namespace sheaf
