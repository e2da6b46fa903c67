// The tables of kernels.h; `lanes` and `most_strip`, how many registers of channels a loop over rows handles at once, are given.
#pragma once

#include "runtime/cpu/norm/kernels.h"
#include "runtime/cpu/winograd/vector.inc.h"

namespace sheaf::norm {
namespace {

using winograd::Bf16;
using winograd::Bits;
using winograd::F32;
using winograd::Vector;

/// Calls strip.operator()<registers>(first channel) for all channels.
template <typename Strip>
SHEAF_INLINE void for_strips(int64_t channels, Strip strip) {
  int64_t channel = 0;
  for (; channel + most_strip * lanes <= channels; channel += most_strip * lanes)
    strip.template operator()<most_strip>(channel);
  for (; channel < channels; channel += lanes) strip.template operator()<1>(channel);
}

/// `values`, 0 where `by` is 0 or below.
SHEAF_INLINE Vector open(Vector values, Vector by) {
  return reinterpret_cast<Vector>(reinterpret_cast<Bits>(values) & ~reinterpret_cast<Bits>(by <= 0));
}

/// Vectors of some of the channels.
template <int count>
struct Strip {
  Vector at[count];

  SHEAF_INLINE static Strip load(const float* from) {
    Strip strip;
    for (int i = 0; i < count; ++i) strip.at[i] = F32::load(from + i * lanes);
    return strip;
  }
  SHEAF_INLINE void store(float* to) const {
    for (int i = 0; i < count; ++i) F32::store(to + i * lanes, at[i]);
  }
};

template <typename Element>
struct Rows {
  using Value = typename Element::Value;

  static void statistics(const void* x_, int64_t rows, int64_t channels, int64_t before, float* mean, float* squares) {
    const float share = 1 / float(rows), weight = float(double(rows) / double(before + rows)), both = float(before) * weight;
    for_strips(channels, [&]<int count>(int64_t channel) {
      const Value* const x = static_cast<const Value*>(x_) + channel;
      Strip<count> own{}, deviations{};
      for (int64_t row = 0; row < rows; ++row)
        for (int i = 0; i < count; ++i) own.at[i] += Element::load(x + row * channels + i * lanes);
      for (int i = 0; i < count; ++i) own.at[i] *= share;
      for (int64_t row = 0; row < rows; ++row)
        for (int i = 0; i < count; ++i) {
          const Vector d = Element::load(x + row * channels + i * lanes) - own.at[i];
          deviations.at[i] += d * d;
        }
      if (before > 0) {
        const auto mean_before = Strip<count>::load(mean + channel), before_them = Strip<count>::load(squares + channel);
        for (int i = 0; i < count; ++i) {
          const Vector d = own.at[i] - mean_before.at[i];
          own.at[i] = mean_before.at[i] + d * weight;
          deviations.at[i] += before_them.at[i] + d * d * both;
        }
      }
      own.store(mean + channel);
      deviations.store(squares + channel);
    });
  }

  template <bool relu>
  static void normalise_by(const Value* x_, Value* y_, int64_t rows, int64_t channels, const Affine& affine) {
    for_strips(channels, [&]<int count>(int64_t channel) {
      const Value* const x = x_ + channel;
      Value* const y = y_ + channel;
      const auto mean = Strip<count>::load(affine.mean + channel), scale = Strip<count>::load(affine.scale + channel),
                 shift = Strip<count>::load(affine.shift + channel);
      for (int64_t row = 0; row < rows; ++row)
        for (int i = 0; i < count; ++i) {
          const int64_t at = row * channels + i * lanes;
          const Vector result = (Element::load(x + at) - mean.at[i]) * scale.at[i] + shift.at[i];
          Element::store(y + at, relu ? open(result, result) : result);
        }
    });
  }

  /// visit(place in the tensors, register of the strip, dy or 0 where the ReLU is closed, x − mean) for the strip from `channel` on.
  template <bool relu, int count, typename Visit>
  static SHEAF_INLINE void for_gradients(const Value* x, const Value* dy, int64_t rows, int64_t channels, const Affine& affine,
                                         int64_t channel, Visit visit) {
    const auto mean = Strip<count>::load(affine.mean + channel), scale = Strip<count>::load(affine.scale + channel),
               shift = Strip<count>::load(affine.shift + channel);
    for (int64_t row = 0; row < rows; ++row)
      for (int i = 0; i < count; ++i) {
        const int64_t at = row * channels + channel + i * lanes;
        const Vector deviation = Element::load(x + at) - mean.at[i], given = Element::load(dy + at);
        visit(at, i, relu ? open(given, deviation * scale.at[i] + shift.at[i]) : given, deviation);
      }
  }

  template <bool relu>
  static void add_sums_by(const Value* x, const Value* dy, int64_t rows, int64_t channels, const Affine& affine, float* sum,
                          float* product) {
    for_strips(channels, [&]<int count>(int64_t channel) {
      Strip<count> sums{}, products{};
      for_gradients<relu, count>(x, dy, rows, channels, affine, channel, [&](int64_t, int i, Vector g, Vector deviation) {
        sums.at[i] += g;
        products.at[i] += g * deviation;
      });
      const auto sums_before = Strip<count>::load(sum + channel), products_before = Strip<count>::load(product + channel);
      for (int i = 0; i < count; ++i) {
        sums.at[i] += sums_before.at[i];
        products.at[i] += products_before.at[i];
      }
      sums.store(sum + channel);
      products.store(product + channel);
    });
  }

  template <bool relu>
  static void gradient_by(const Value* x, const Value* dy, Value* dx, int64_t rows, int64_t channels, const Affine& affine,
                          const float* lift_, const float* tilt_) {
    for_strips(channels, [&]<int count>(int64_t channel) {
      const auto scale = Strip<count>::load(affine.scale + channel), lift = Strip<count>::load(lift_ + channel),
                 tilt = Strip<count>::load(tilt_ + channel);
      for_gradients<relu, count>(x, dy, rows, channels, affine, channel, [&](int64_t at, int i, Vector g, Vector deviation) {
        Element::store(dx + at, scale.at[i] * (g - lift.at[i] - deviation * tilt.at[i]));
      });
    });
  }

  static void normalise(const void* x, void* y, int64_t rows, int64_t channels, const Affine& affine, bool relu) {
    const auto work = relu ? normalise_by<true> : normalise_by<false>;
    work(static_cast<const Value*>(x), static_cast<Value*>(y), rows, channels, affine);
  }
  static void add_sums(const void* x, const void* dy, int64_t rows, int64_t channels, const Affine& affine, bool relu,
                       float* sum, float* product) {
    const auto work = relu ? add_sums_by<true> : add_sums_by<false>;
    work(static_cast<const Value*>(x), static_cast<const Value*>(dy), rows, channels, affine, sum, product);
  }
  static void gradient(const void* x, const void* dy, void* dx, int64_t rows, int64_t channels, const Affine& affine,
                       const float* lift, const float* tilt, bool relu) {
    const auto work = relu ? gradient_by<true> : gradient_by<false>;
    work(static_cast<const Value*>(x), static_cast<const Value*>(dy), static_cast<Value*>(dx), rows, channels, affine, lift,
         tilt);
  }
};

template <typename Element>
constexpr KernelTable table(const char* instructions) {
  using Of = Rows<Element>;
  return {instructions, lanes, Of::statistics, Of::normalise, Of::add_sums, Of::gradient};
}

}  // namespace
}  // namespace sheaf::norm
