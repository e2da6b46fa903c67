// Pooling over 1 to 3 dims with PyTorch's rules (ATen/native/cuda/{DilatedMaxPool2d,AveragePool2d,AdaptiveAveragePooling}.cu),
// plain or with channels last. Gradients are gathered: each thread adds up all that reaches its element, in the order of the
// windows, so that the bits are the same each time.
#include "element.cuh"

/// As runtime/cuda/own_pooling.cpp fills it. Sizes along depth, height and width, leading ones where there are fewer dims.
struct Pool {
  int x[3], y[3], kernel[3], stride[3], padding[3], dilation[3];
  int channels;
  int channels_last;  ///< else plain
  int adaptive;       ///< windows [⌊o·x/y⌋, ⌈(o+1)·x/y⌉)
  int count_include_pad;
  int divisor;  ///< 0: a window's size
};

namespace {

/// Where a thread's element lies among those of a tensor with the spatial sizes `size`: element 0 of its plane, what lies
/// between two positions of a plane, and its own position.
struct Place {
  long long plane;  ///< image and channel, counted in planes
  int channel, at[3];
};

__device__ Place place_of(unsigned i, const Pool& p, const int* size) {
  Place place;
  const unsigned channels = p.channels, positions = static_cast<unsigned>(size[0]) * size[1] * size[2];
  unsigned position;
  if (p.channels_last) {
    place.channel = i % channels;
    position = i / channels;
    place.plane = position / positions * static_cast<long long>(channels) + place.channel;
    position %= positions;
  } else {
    place.plane = i / positions;
    place.channel = place.plane % channels;
    position = i % positions;
  }
  place.at[2] = position % size[2];
  place.at[1] = position / size[2] % size[1];
  place.at[0] = position / size[2] / size[1];
  return place;
}

/// A plane of a tensor with the spatial sizes `size`: position (d, h, w) is element begin + ((d · height) + h · width + w) · step.
struct Plane {
  long long begin;
  int step, height, width;
  __device__ long long operator()(int d, int h, int w) const {
    return begin + static_cast<long long>((d * height + h) * width + w) * step;
  }
};

__device__ Plane plane_of(const Place& place, const Pool& p, const int* size) {
  const long long positions = static_cast<long long>(size[0]) * size[1] * size[2];
  Plane plane;
  plane.begin = p.channels_last ? (place.plane - place.channel) * positions + place.channel : place.plane * positions;
  plane.step = p.channels_last ? p.channels : 1;
  plane.height = size[1];
  plane.width = size[2];
  return plane;
}

/// The first of equal values counts, and NaN more than any number. `tap`, or null: which element of its window it was.
template <typename Element, typename Tap>
__device__ void max_pool(Element* y, Tap* tap, const Element* x, const Pool& p, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.y);
  const Plane plane = plane_of(place, p, p.x);
  float greatest = -INFINITY;
  Element result = rounded<Element>(greatest);
  int where = -1;
  for (int kd = 0; kd < p.kernel[0]; ++kd) {
    const int d = place.at[0] * p.stride[0] - p.padding[0] + kd * p.dilation[0];
    if (d < 0 || d >= p.x[0]) continue;
    for (int kh = 0; kh < p.kernel[1]; ++kh) {
      const int h = place.at[1] * p.stride[1] - p.padding[1] + kh * p.dilation[1];
      if (h < 0 || h >= p.x[1]) continue;
      for (int kw = 0; kw < p.kernel[2]; ++kw) {
        const int w = place.at[2] * p.stride[2] - p.padding[2] + kw * p.dilation[2];
        if (w < 0 || w >= p.x[2]) continue;
        const Element element = x[plane(d, h, w)];
        const float value = widened(element);
        if (where < 0 || value > greatest || value != value) {
          greatest = value;
          result = element;
          where = (kd * p.kernel[1] + kh) * p.kernel[2] + kw;
        }
      }
    }
  }
  y[i] = result;
  if (tap) tap[i] = static_cast<Tap>(where);
}

/// Outputs [begin, end) whose windows reach over element `at`; with dilation they may step over it.
struct Range {
  int begin, end;
};

__device__ Range windows_over(int at, int dim, const Pool& p) {
  const int last = (at + p.padding[dim]) / p.stride[dim] + 1;
  // The last element that a window may begin at and not reach `at`.
  const int before = at + p.padding[dim] - p.dilation[dim] * (p.kernel[dim] - 1) - 1;
  return {before < 0 ? 0 : before / p.stride[dim] + 1, last < p.y[dim] ? last : p.y[dim]};
}

/// Which of output o's taps element `at` is; -1 where it is none.
__device__ int tap_of(int at, int o, int dim, const Pool& p) {
  const int offset = at + p.padding[dim] - o * p.stride[dim];
  if (p.dilation[dim] == 1) return offset;
  return offset % p.dilation[dim] == 0 ? offset / p.dilation[dim] : -1;
}

template <typename Element, typename Tap>
__device__ void max_pool_backward(Element* dx, const Element* dy, const Tap* tap, const Pool& p, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.x);
  const Plane plane = plane_of(place, p, p.y);
  const Range wd = windows_over(place.at[0], 0, p), wh = windows_over(place.at[1], 1, p), ww = windows_over(place.at[2], 2, p);
  float sum = 0;
  for (int d = wd.begin; d < wd.end; ++d) {
    const int kd = tap_of(place.at[0], d, 0, p);
    for (int h = wh.begin; kd >= 0 && h < wh.end; ++h) {
      const int kh = tap_of(place.at[1], h, 1, p);
      for (int w = ww.begin; kh >= 0 && w < ww.end; ++w) {
        const int kw = tap_of(place.at[2], w, 2, p);
        if (kw < 0) continue;
        const long long at = plane(d, h, w);
        if (tap[at] == static_cast<Tap>((kd * p.kernel[1] + kh) * p.kernel[2] + kw)) sum += widened(dy[at]);
      }
    }
  }
  dx[i] = rounded<Element>(sum);
}

/// ⌊a · b / c⌋ of numbers that aren't negative. A division of 64 bits takes several times as long as one of 32.
__device__ int scaled(int a, int b, int c, int add = 0) {
  const unsigned long long product = static_cast<unsigned long long>(a) * b + add;
  return static_cast<int>(product >> 32 == 0 ? static_cast<unsigned>(product) / static_cast<unsigned>(c) : product / c);
}

/// Output o's window along a dim, and what the average divides by.
struct Window {
  int begin, end, divisor;
};

__device__ Window window_of(int o, int dim, const Pool& p) {
  if (p.adaptive) {
    const int begin = scaled(o, p.x[dim], p.y[dim]), end = scaled(o + 1, p.x[dim], p.y[dim], p.y[dim] - 1);
    return {begin, end, end - begin};
  }
  // In ceil mode the last windows may reach beyond the padding: that isn't counted.
  const int from = o * p.stride[dim] - p.padding[dim];
  const int to = from + p.kernel[dim] < p.x[dim] + p.padding[dim] ? from + p.kernel[dim] : p.x[dim] + p.padding[dim];
  const int begin = from > 0 ? from : 0, end = to < p.x[dim] ? to : p.x[dim];
  return {begin, end, p.count_include_pad ? to - from : end - begin};
}

__device__ float divisor_of(const Window& d, const Window& h, const Window& w, const Pool& p) {
  return p.divisor != 0 ? static_cast<float>(p.divisor)
                        : static_cast<float>(static_cast<long long>(d.divisor) * h.divisor * w.divisor);
}

template <typename Element>
__device__ void avg_pool(Element* y, const Element* x, const Pool& p, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.y);
  const Plane plane = plane_of(place, p, p.x);
  const Window wd = window_of(place.at[0], 0, p), wh = window_of(place.at[1], 1, p), ww = window_of(place.at[2], 2, p);
  float sum = 0;
  for (int d = wd.begin; d < wd.end; ++d)
    for (int h = wh.begin; h < wh.end; ++h)
      for (int w = ww.begin; w < ww.end; ++w) sum += widened(x[plane(d, h, w)]);
  const bool empty = wd.begin >= wd.end || wh.begin >= wh.end || ww.begin >= ww.end;
  y[i] = rounded<Element>(empty ? 0.0f : sum / divisor_of(wd, wh, ww, p));
}

/// The same of windows of any kind.
__device__ Range windows_with(int at, int dim, const Pool& p) {
  if (!p.adaptive) return windows_over(at, dim, p);
  return {scaled(at, p.y[dim], p.x[dim]), scaled(at + 1, p.y[dim], p.x[dim], p.x[dim] - 1)};
}

template <typename Element>
__device__ void avg_pool_backward(Element* dx, const Element* dy, const Pool& p, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const Place place = place_of(i, p, p.x);
  const Plane plane = plane_of(place, p, p.y);
  const Range wd = windows_with(place.at[0], 0, p), wh = windows_with(place.at[1], 1, p), ww = windows_with(place.at[2], 2, p);
  float sum = 0;
  for (int d = wd.begin; d < wd.end; ++d) {
    const Window depth = window_of(d, 0, p);
    for (int h = wh.begin; h < wh.end; ++h) {
      const Window height = window_of(h, 1, p);
      for (int w = ww.begin; w < ww.end; ++w)
        sum += widened(dy[plane(d, h, w)]) / divisor_of(depth, height, window_of(w, 2, p), p);
    }
  }
  dx[i] = rounded<Element>(sum);
}

}  // namespace

#define SHEAF_MAX_POOL(suffix, Element, Tap)                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                               \
      max_pool_##suffix(Element* y, Tap* tap, const Element* x, const __grid_constant__ Pool p, unsigned count) { \
    max_pool(y, tap, x, p, count);                                                                                \
  }                                                                                                               \
  extern "C" __global__ void __launch_bounds__(256) max_pool_backward_##suffix(                                   \
      Element* dx, const Element* dy, const Tap* tap, const __grid_constant__ Pool p, unsigned count) {           \
    max_pool_backward(dx, dy, tap, p, count);                                                                     \
  }
#define SHEAF_POOL(suffix, Element)                                                                                \
  SHEAF_MAX_POOL(suffix##_u8, Element, unsigned char)                                                              \
  SHEAF_MAX_POOL(suffix##_i32, Element, int)                                                                       \
  extern "C" __global__ void __launch_bounds__(256)                                                                \
      avg_pool_##suffix(Element* y, const Element* x, const __grid_constant__ Pool p, unsigned count) {            \
    avg_pool(y, x, p, count);                                                                                      \
  }                                                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                                \
      avg_pool_backward_##suffix(Element* dx, const Element* dy, const __grid_constant__ Pool p, unsigned count) { \
    avg_pool_backward(dx, dy, p, count);                                                                           \
  }
SHEAF_POOL(f32, float)
SHEAF_POOL(bf16, BFloat16)
SHEAF_POOL(f16, Float16)
