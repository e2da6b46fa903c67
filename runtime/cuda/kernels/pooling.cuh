// Which elements pooling reads for a thread's, over 1 to 3 dims, plain or with channels last, and vectors of neighbouring channels.
#pragma once

#include "element.cuh"

/// As runtime/cuda/own_pooling.cpp fills it. Sizes along depth, height and width, leading ones where there are fewer dims.
struct Pool {
  int x[3], y[3], kernel[3], stride[3], padding[3], dilation[3];
  int channels;       ///< vectors of them, where a thread has a vector
  int channels_last;  ///< else plain
  int adaptive;       ///< windows [⌊o·x/y⌋, ⌈(o+1)·x/y⌉)
  int count_include_pad;
  int divisor;  ///< 0: a window's size
};

namespace {

/// The position of a thread's element among those of a tensor with the spatial sizes `size`: element 0 of its plane, the
/// distance between two positions of a plane, and its own position.
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

/// ⌊a · b / c⌋ of numbers that aren't negative. A division of 64 bits takes several times as long as one of 32.
__device__ int scaled(int a, int b, int c, int add = 0) {
  const unsigned long long product = static_cast<unsigned long long>(a) * b + add;
  return static_cast<int>(product >> 32 == 0 ? static_cast<unsigned>(product) / static_cast<unsigned>(c) : product / c);
}

/// Outputs [begin, end) whose windows reach over element `at`; with dilation they may step over it.
struct Range {
  int begin, end;
};

__device__ Range windows_over(int at, int dim, const Pool& p) {
  if (p.adaptive) return {scaled(at, p.y[dim], p.x[dim]), scaled(at + 1, p.y[dim], p.x[dim], p.x[dim] - 1)};
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

/// The element that the first tap of output o's window is, which may lie before x.
__device__ int first_of(int o, int dim, const Pool& p) { return o * p.stride[dim] - p.padding[dim]; }

/// Taps of the output at `o` along a dim that are within x.
__device__ Range taps_within(int o, int dim, const Pool& p) {
  const int from = first_of(o, dim, p), step = p.dilation[dim], room = p.x[dim] - 1 - from;
  const int begin = from < 0 ? (step - 1 - from) / step : 0, end = room < 0 ? 0 : room / step + 1;
  return {begin, end < p.kernel[dim] ? end : p.kernel[dim]};
}

/// Goes over all positions of a box in their order; behind the last it stays there, so that what is read there exists.
struct Walk {
  Range range[3];
  int at[3];
  bool inside;  ///< else it is behind the last

  __device__ Walk(Range depth, Range height, Range width)
      : range{depth, height, width}, at{depth.begin, height.begin, width.begin} {
    inside = depth.begin < depth.end && height.begin < height.end && width.begin < width.end;
  }
  __device__ void next() {
    const bool row = at[2] + 1 == range[2].end, plane = row && at[1] + 1 == range[1].end;
    const bool last = plane && at[0] + 1 == range[0].end;
    inside = inside && !last;
    at[2] = last ? at[2] : row ? range[2].begin : at[2] + 1;
    at[1] = last ? at[1] : plane ? range[1].begin : at[1] + row;
    at[0] = last ? at[0] : at[0] + plane;
  }
};

/// Neighbours in memory, which one access, or two, read and write; all of it is in registers.
template <int bytes>
struct Words {
  using Type = unsigned char;
};
template <>
struct Words<2> {
  using Type = unsigned short;
};
template <>
struct Words<4> {
  using Type = unsigned;
};
template <>
struct Words<8> {
  using Type = uint2;
};
template <>
struct Words<16> {
  using Type = uint4;
};
template <typename T, int count>
union Several {
  static constexpr int kBytes = sizeof(T) * count, kAtOnce = kBytes < 16 ? kBytes : 16;
  using Word = typename Words<kAtOnce>::Type;
  Word words[kBytes / kAtOnce];
  T values[count];

  __device__ void load(const T* from, long long at) {
    const Word* word = reinterpret_cast<const Word*>(from) + at * (kBytes / kAtOnce);
#pragma unroll
    for (int k = 0; k < kBytes / kAtOnce; ++k) words[k] = word[k];
  }
  __device__ void store(T* to, long long at) const {
    Word* word = reinterpret_cast<Word*>(to) + at * (kBytes / kAtOnce);
#pragma unroll
    for (int k = 0; k < kBytes / kAtOnce; ++k) word[k] = words[k];
  }
};

}  // namespace
