// Sums by channel and batch norm in the plain format, where a channel's positions in an image, its plane, are whole vectors of 16 bytes: every
// access to x and what has its shape is one. Sums are in an order that depends on the sizes alone.
#include "element.cuh"

namespace {

using Index = unsigned long long;

constexpr unsigned kThreads = 256;

/// x [images, channels, plane], in vectors, fewer than 2³¹.
struct Planes {
  unsigned images, channels, plane;

  /// Vector j of channel c; a channel's vectors are numbered image by image.
  __device__ Index at(unsigned c, unsigned j) const {
    return (static_cast<Index>(j / plane) * channels + c) * plane + j % plane;
  }
  __device__ unsigned channel(unsigned vector) const { return vector / plane % channels; }
  __device__ unsigned vectors() const { return images * channels * plane; }
};

/// A bit for each element of a vector, as the mask has it; all, if there is none.
template <typename Element>
__device__ inline unsigned bits_of(const unsigned char* mask, Index vector) {
  if (!mask) return 255;
  return Lanes<Element>::kCount == 8 ? mask[vector] : mask[vector / 2] >> (vector % 2 * 4);
}
__device__ inline bool is_set(unsigned bits, unsigned lane) { return bits >> lane & 1; }

enum Mode { kSum, kSquares, kGradient };

/// What `count` vectors of a channel add to its sums, by lane. kSum: x. kSquares: (x - mean)². kGradient: the gradient g, dy where the mask
/// is set, and g · (x - mean) / sqrt(var + eps).
template <int mode, unsigned count, typename Element>
__device__ void add_vectors(float2 (&sum)[Lanes<Element>::kCount], const Element* x, const Element* dy,
                            const unsigned char* mask, const Planes& planes, unsigned c, unsigned j, float mean, float scale) {
  Lanes<Element> values[count], slopes[count];
  unsigned bits[count];
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
    const Index at = planes.at(c, j + k * kThreads);
    values[k].vector = reinterpret_cast<const uint4*>(x)[at];
    if (mode == kGradient) {
      slopes[k].vector = reinterpret_cast<const uint4*>(dy)[at];
      bits[k] = bits_of<Element>(mask, at);
    }
  }
#pragma unroll
  for (unsigned k = 0; k < count; ++k) {
#pragma unroll
    for (unsigned lane = 0; lane < Lanes<Element>::kCount; ++lane) {
      const float value = widened(values[k].element[lane]) - mean;
      if (mode == kSum) sum[lane].x += value;
      if (mode == kSquares) sum[lane].x += value * value;
      if (mode != kGradient) continue;
      const float g = is_set(bits[k], lane) ? widened(slopes[k].element[lane]) : 0;
      sum[lane].x += g;
      sum[lane].y += g * value * scale;
    }
  }
}

/// Block (channel, part) adds what vectors part · stretch, … add: sums[part][channel]. Each thread adds every 256th vector to a sum for each
/// lane, then these in order; the threads' sums are added by the same tree always.
template <int mode, typename Element>
__device__ void sum_planes(float2* sums, const Element* x, const Element* dy, const unsigned char* mask, const float* mean,
                           const float* var, float eps, const Planes& planes, unsigned stretch) {
  constexpr unsigned kTogether = mode == kGradient ? 2 : 4;
  __shared__ float2 partial[kThreads];
  const unsigned c = blockIdx.x, begin = blockIdx.y * stretch, whole = planes.images * planes.plane;
  const unsigned end = begin + stretch < whole ? begin + stretch : whole;
  const float centre = mode == kSum ? 0 : mean[c], scale = mode == kGradient ? 1 / sqrtf(var[c] + eps) : 0;
  float2 sum[Lanes<Element>::kCount] = {};
  unsigned j = begin + threadIdx.x;
  for (; j + (kTogether - 1) * kThreads < end; j += kTogether * kThreads)
    add_vectors<mode, kTogether>(sum, x, dy, mask, planes, c, j, centre, scale);
  for (; j < end; j += kThreads) add_vectors<mode, 1>(sum, x, dy, mask, planes, c, j, centre, scale);
#pragma unroll
  for (unsigned lane = 1; lane < Lanes<Element>::kCount; ++lane) {
    sum[0].x += sum[lane].x;
    sum[0].y += sum[lane].y;
  }
  partial[threadIdx.x] = sum[0];
  for (unsigned step = 1; step < kThreads; step *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * step) == 0) {
      const float2 other = partial[threadIdx.x + step];
      partial[threadIdx.x].x += other.x;
      partial[threadIdx.x].y += other.y;
    }
  }
  if (threadIdx.x == 0) sums[static_cast<Index>(blockIdx.y) * planes.channels + c] = partial[0];
}

/// y = (x - mean) · scale · weight + bias, then the residual and ReLU, of one vector; gives a bit for each element that ReLU lets through.
template <typename Element>
__device__ unsigned normalize_vector(Lanes<Element>& values, const Lanes<Element>& added, bool residual, const float* mean,
                                     const float* var, const float* weight, const float* bias, float eps, int relu,
                                     unsigned c) {
  const float centre = mean[c], scale = (weight ? weight[c] : 1) / sqrtf(var[c] + eps), shift = weight ? bias[c] : 0;
  unsigned bits = 0;
#pragma unroll
  for (unsigned lane = 0; lane < Lanes<Element>::kCount; ++lane) {
    float value = (widened(values.element[lane]) - centre) * scale + shift;
    if (residual) value += widened(added.element[lane]);
    const bool passes = value > 0 || value != value;
    bits |= static_cast<unsigned>(passes) << lane;
    values.element[lane] = rounded<Element>(!relu || passes ? value : 0);
  }
  return bits;
}

/// Each thread has two neighbouring vectors at a time, so that it writes whole bytes of the mask.
template <typename Element>
__device__ void normalize_planes(Element* y, unsigned char* mask, const Element* x, const Element* residual, const float* mean,
                                 const float* var, const float* weight, const float* bias, float eps, int relu,
                                 const Planes& planes) {
  const unsigned vectors = planes.vectors();
  for (Index first = 2 * first_index(); first < vectors; first += 2 * grid_size()) {
    Lanes<Element> values[2], added[2];
    unsigned bits[2] = {};
    const bool both = first + 1 < vectors;
    const Index second = both ? first + 1 : first;
    values[0].vector = reinterpret_cast<const uint4*>(x)[first];
    values[1].vector = reinterpret_cast<const uint4*>(x)[second];
    if (residual) {
      added[0].vector = reinterpret_cast<const uint4*>(residual)[first];
      added[1].vector = reinterpret_cast<const uint4*>(residual)[second];
    }
#pragma unroll
    for (unsigned k = 0; k < 2; ++k) {
      const auto at = static_cast<unsigned>(k == 0 ? first : second);
      bits[k] =
          normalize_vector(values[k], added[k], residual != nullptr, mean, var, weight, bias, eps, relu, planes.channel(at));
    }
    reinterpret_cast<uint4*>(y)[first] = values[0].vector;
    if (both) reinterpret_cast<uint4*>(y)[second] = values[1].vector;
    if (!mask) continue;
    if (Lanes<Element>::kCount == 4) {
      mask[first / 2] = static_cast<unsigned char>(both ? bits[0] | bits[1] << 4 : bits[0]);
    } else {
      mask[first] = static_cast<unsigned char>(bits[0]);
      if (both) mask[second] = static_cast<unsigned char>(bits[1]);
    }
  }
}

/// dx = weight / sqrt(var + eps) · (g - Σg / M - x̂ · Σ(g · x̂) / M); dx may be dy. `gradient`, which may be null: g.
template <typename Element>
__device__ void slope_planes(Element* dx, Element* gradient, const Element* x, const Element* dy, const unsigned char* mask,
                             const float* mean, const float* var, const float* weight, const float* sum_g, const float* sum_gx,
                             float eps, const Planes& planes) {
  const float share = 1.0f / (static_cast<float>(planes.images * planes.plane) * Lanes<Element>::kCount);
  for (Index at = first_index(); at < planes.vectors(); at += grid_size()) {
    Lanes<Element> values, slopes;
    values.vector = reinterpret_cast<const uint4*>(x)[at];
    slopes.vector = reinterpret_cast<const uint4*>(dy)[at];
    const unsigned bits = bits_of<Element>(mask, at), c = planes.channel(static_cast<unsigned>(at));
    const float centre = mean[c], scale = 1 / sqrtf(var[c] + eps), factor = weight ? weight[c] * scale : scale;
    const float off = sum_g[c] * share, slope = sum_gx[c] * share;
#pragma unroll
    for (unsigned lane = 0; lane < Lanes<Element>::kCount; ++lane) {
      const float normal = (widened(values.element[lane]) - centre) * scale;
      const float g = is_set(bits, lane) ? widened(slopes.element[lane]) : 0;
      slopes.element[lane] = rounded<Element>(g);
      values.element[lane] = rounded<Element>(factor * (g - off - normal * slope));
    }
    if (gradient) reinterpret_cast<uint4*>(gradient)[at] = slopes.vector;
    reinterpret_cast<uint4*>(dx)[at] = values.vector;
  }
}

}  // namespace

#define SHEAF_SUMS(name, mode, suffix, Element)                                                                                \
  extern "C" __global__ void __launch_bounds__(256)                                                                            \
      plane_##name##_##suffix(float2* sums, const Element* x, const Element* dy, const unsigned char* mask, const float* mean, \
                              const float* var, float eps, const Planes planes, unsigned stretch) {                            \
    sum_planes<mode>(sums, x, dy, mask, mean, var, eps, planes, stretch);                                                      \
  }
#define SHEAF_PLANES(suffix, Element)                                                                                    \
  SHEAF_SUMS(sums, kSum, suffix, Element)                                                                                \
  SHEAF_SUMS(squares, kSquares, suffix, Element)                                                                         \
  SHEAF_SUMS(gradients, kGradient, suffix, Element)                                                                      \
  extern "C" __global__ void __launch_bounds__(256) normalize_planes_##suffix(                                           \
      Element* y, unsigned char* mask, const Element* x, const Element* residual, const float* mean, const float* var,   \
      const float* weight, const float* bias, float eps, int relu, const Planes planes) {                                \
    normalize_planes(y, mask, x, residual, mean, var, weight, bias, eps, relu, planes);                                  \
  }                                                                                                                      \
  extern "C" __global__ void __launch_bounds__(256) slope_planes_##suffix(                                               \
      Element* dx, Element* gradient, const Element* x, const Element* dy, const unsigned char* mask, const float* mean, \
      const float* var, const float* weight, const float* sum_g, const float* sum_gx, float eps, const Planes planes) {  \
    slope_planes(dx, gradient, x, dy, mask, mean, var, weight, sum_g, sum_gx, eps, planes);                              \
  }
SHEAF_PLANES(f32, float)
SHEAF_PLANES(bf16, BFloat16)
SHEAF_PLANES(f16, Float16)
