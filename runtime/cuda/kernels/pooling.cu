// Pooling over 1 to 3 dims with PyTorch's rules (ATen/native/cuda/{DilatedMaxPool2d,AveragePool2d,AdaptiveAveragePooling}.cu),
// plain or with channels last. Gradients are gathered: each thread adds up all that reaches its element, in the order of the
// windows, so that the bits are the same each time.
//
// A thread has `lanes` neighbouring channels, 16 bytes of them, where channels are last and fill such vectors; else one element. Either
// has several reads on their way at once: of all taps, or of all windows, in their order.
#include "pooling.cuh"

namespace {

/// The first of equal values counts, and NaN more than any number. `taps`, or null: which element of its window it was.
template <int lanes, typename Element, typename Tap>
__device__ void max_pool(Element* y, Tap* taps, const Element* x, const Pool& p, unsigned count) {
  constexpr int kTogether = 2;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.y);
  const Plane plane = plane_of(place, p, p.x);
  float greatest[lanes];
  int where[lanes];
  Several<Element, lanes> result;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) {
    greatest[lane] = -INFINITY;
    where[lane] = -1;
    result.values[lane] = rounded<Element>(-INFINITY);
  }
  Walk walk(taps_within(place.at[0], 0, p), taps_within(place.at[1], 1, p), taps_within(place.at[2], 2, p));
  while (walk.inside) {
    Several<Element, lanes> read[kTogether];
    int tap[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      int at[3];
#pragma unroll
      for (int dim = 0; dim < 3; ++dim) at[dim] = first_of(place.at[dim], dim, p) + walk.at[dim] * p.dilation[dim];
      read[k].load(x, plane(at[0], at[1], at[2]));
      tap[k] = (walk.at[0] * p.kernel[1] + walk.at[1]) * p.kernel[2] + walk.at[2];
      walk.next();
    }
    // The last tap once more changes nothing.
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane) {
        const float value = widened(read[k].values[lane]);
        const bool more = where[lane] < 0 || value > greatest[lane] || value != value;
        greatest[lane] = more ? value : greatest[lane];
        result.values[lane] = more ? read[k].values[lane] : result.values[lane];
        where[lane] = more ? tap[k] : where[lane];
      }
    }
  }
  result.store(y, i);
  if (!taps) return;
  Several<Tap, lanes> kept;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) kept.values[lane] = static_cast<Tap>(where[lane]);
  kept.store(taps, i);
}

template <int lanes, typename Element, typename Tap>
__device__ void max_pool_backward(Element* dx, const Element* dy, const Tap* taps, const Pool& p, unsigned count) {
  constexpr int kTogether = 2;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.x);
  const Plane plane = plane_of(place, p, p.y);
  float sum[lanes] = {};
  Walk walk(windows_over(place.at[0], 0, p), windows_over(place.at[1], 1, p), windows_over(place.at[2], 2, p));
  while (walk.inside) {
    Several<Element, lanes> read[kTogether];
    Several<Tap, lanes> kept[kTogether];
    Walk window[kTogether] = {walk, walk};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const long long at = plane(walk.at[0], walk.at[1], walk.at[2]);
      read[k].load(dy, at);
      kept[k].load(taps, at);
      window[k] = walk;
      walk.next();
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      int own[3];
#pragma unroll
      for (int dim = 0; dim < 3; ++dim) own[dim] = tap_of(place.at[dim], window[k].at[dim], dim, p);
      const bool reached = window[k].inside && own[0] >= 0 && own[1] >= 0 && own[2] >= 0;
      const int tap = reached ? (own[0] * p.kernel[1] + own[1]) * p.kernel[2] + own[2] : -1;
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane) {
        const bool chosen = tap >= 0 && kept[k].values[lane] == static_cast<Tap>(tap);
        sum[lane] = chosen ? sum[lane] + widened(read[k].values[lane]) : sum[lane];
      }
    }
  }
  Several<Element, lanes> result;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) result.values[lane] = rounded<Element>(sum[lane]);
  result.store(dx, i);
}

template <int lanes, typename Element>
__device__ void avg_pool(Element* y, const Element* x, const Pool& p, unsigned count) {
  constexpr int kTogether = 4;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.y);
  const Plane plane = plane_of(place, p, p.x);
  const Window wd = window_of(place.at[0], 0, p), wh = window_of(place.at[1], 1, p), ww = window_of(place.at[2], 2, p);
  float sum[lanes] = {};
  Walk walk({wd.begin, wd.end}, {wh.begin, wh.end}, {ww.begin, ww.end});
  const bool empty = !walk.inside;
  while (walk.inside) {
    Several<Element, lanes> read[kTogether];
    bool inside[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      inside[k] = walk.inside;
      read[k].load(x, plane(walk.at[0], walk.at[1], walk.at[2]));
      walk.next();
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane) sum[lane] = inside[k] ? sum[lane] + widened(read[k].values[lane]) : sum[lane];
    }
  }
  const float divisor = divisor_of(wd, wh, ww, p);
  Several<Element, lanes> result;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) result.values[lane] = rounded<Element>(empty ? 0.0f : sum[lane] / divisor);
  result.store(y, i);
}

template <int lanes, typename Element>
__device__ void avg_pool_backward(Element* dx, const Element* dy, const Pool& p, unsigned count) {
  constexpr int kTogether = 2;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.x);
  const Plane plane = plane_of(place, p, p.y);
  float sum[lanes] = {};
  Walk walk(windows_over(place.at[0], 0, p), windows_over(place.at[1], 1, p), windows_over(place.at[2], 2, p));
  while (walk.inside) {
    Several<Element, lanes> read[kTogether];
    Walk window[kTogether] = {walk, walk};
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      read[k].load(dy, plane(walk.at[0], walk.at[1], walk.at[2]));
      window[k] = walk;
      walk.next();
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      const int* at = window[k].at;
      const float divisor = divisor_of(window_of(at[0], 0, p), window_of(at[1], 1, p), window_of(at[2], 2, p), p);
#pragma unroll
      for (int lane = 0; lane < lanes; ++lane)
        sum[lane] = window[k].inside ? sum[lane] + widened(read[k].values[lane]) / divisor : sum[lane];
    }
  }
  Several<Element, lanes> result;
#pragma unroll
  for (int lane = 0; lane < lanes; ++lane) result.values[lane] = rounded<Element>(sum[lane]);
  result.store(dx, i);
}

}  // namespace

#define SHEAF_MAX_POOL(name, lanes, Element, Tap)                                                                \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                           \
      max_pool_##name(Element* y, Tap* taps, const Element* x, const __grid_constant__ Pool p, unsigned count) { \
    max_pool<lanes>(y, taps, x, p, count);                                                                       \
  }                                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 4) max_pool_backward_##name(                                 \
      Element* dx, const Element* dy, const Tap* taps, const __grid_constant__ Pool p, unsigned count) {         \
    max_pool_backward<lanes>(dx, dy, taps, p, count);                                                            \
  }
#define SHEAF_POOL(name, lanes, Element)                                                                         \
  SHEAF_MAX_POOL(name##_u8, lanes, Element, unsigned char)                                                       \
  SHEAF_MAX_POOL(name##_i32, lanes, Element, int)                                                                \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                           \
      avg_pool_##name(Element* y, const Element* x, const __grid_constant__ Pool p, unsigned count) {            \
    avg_pool<lanes>(y, x, p, count);                                                                             \
  }                                                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                           \
      avg_pool_backward_##name(Element* dx, const Element* dy, const __grid_constant__ Pool p, unsigned count) { \
    avg_pool_backward<lanes>(dx, dy, p, count);                                                                  \
  }
SHEAF_POOL(f32, 1, float)
SHEAF_POOL(bf16, 1, BFloat16)
SHEAF_POOL(f16, 1, Float16)
SHEAF_POOL(vectors_f32, 4, float)
SHEAF_POOL(vectors_bf16, 8, BFloat16)
SHEAF_POOL(vectors_f16, 8, Float16)
