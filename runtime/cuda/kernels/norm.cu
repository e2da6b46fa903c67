// Batch norm, ReLU and the addition of a residual with it (norm.cuh).
#include "norm.cuh"

namespace {

/// The mean of eight values of each channel, so that the variance is no difference of large numbers; in `shifts` too, for all.
template <typename Element>
__device__ void take_shift(float (&shift)[kLanes], float* shifts, const Element* x, const Spot& spot, const Sharing& sharing) {
  for (unsigned k = 0; k < 8; ++k) {
    Vector<Element> one;
    one.load(x, (sharing.rows * k >> 3) * sharing.vectors + spot.column);
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) shift[lane] += 0.125f * widened(one.elements[lane]);
  }
  if (blockIdx.y == 0 && spot.row == 0) {
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) shifts[spot.column * kLanes + lane] = shift[lane];
  }
}

template <typename Element>
__device__ void add_squares(float2 (&sum)[kLanes], const float (&shift)[kLanes], const Vector<Element>& values) {
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const float value = widened(values.elements[lane]) - shift[lane];
    sum[lane].x += value;
    sum[lane].y += value * value;
  }
}

/// sums: Σ (x - s) and Σ (x - s)² of each channel, s being its shift.
template <typename Element>
__device__ void sum_squares(float2* sums, float* shifts, const Element* x, const Sharing& sharing) {
  const Spot spot(sharing);
  float2 sum[kLanes] = {};
  float shift[kLanes] = {};
  if (spot.column < sharing.vectors) {
    take_shift(shift, shifts, x, spot, sharing);
    over_rows<sizeof(Element) == 2 ? 4 : 2>(spot, sharing, [&](auto together, Index first, Index apart) {
      constexpr int kCount = decltype(together)::kCount;
      Vector<Element> values[kCount];
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k].load(x, first + k * apart);
#pragma unroll
      for (int k = 0; k < kCount; ++k) add_squares(sum, shift, values[k]);
    });
  }
  add_threads(sums, sum, sharing, spot);
}

/// What a batch norm makes besides y, and takes besides x.
struct Affine {
  float *mean, *var;
  const float *x_bias, *weight, *bias;
};

/// y = (x - centre) · scale + shift, of a tile's channels.
struct Factors {
  float centre[kMostChannels], scale[kMostChannels], shift[kMostChannels];

  /// From the sums; also var, and the mean, of x + x_bias where there is that: nothing else would change by it.
  __device__ void make(const Affine& affine, const float2* sums, const float* shifts, const Sharing& sharing) {
    __shared__ float2 total[kThreads];
    add_parts(total, sums, sharing);
    const unsigned width = kLanes << sharing.width_bits, channel = blockIdx.x * width + threadIdx.x;
    if (threadIdx.x < width && channel < sharing.vectors * kLanes) {
      const float2 sum = total[threadIdx.x];
      const float count = static_cast<float>(sharing.rows), off = sum.x / count, square = sum.y / count - off * off;
      const float middle = shifts[channel] + off, variance = square < 0 ? 0 : square;
      centre[threadIdx.x] = middle;
      const float inverse = 1 / sqrtf(variance + sharing.eps);
      scale[threadIdx.x] = affine.weight ? inverse * affine.weight[channel] : inverse;
      shift[threadIdx.x] = affine.bias ? affine.bias[channel] : 0;
      if (blockIdx.y == 0) {
        affine.mean[channel] = affine.x_bias ? middle + affine.x_bias[channel] : middle;
        affine.var[channel] = variance;
      }
    }
    __syncthreads();
  }

  /// From mean and var, which are there already.
  __device__ void take(const Affine& affine, const Sharing& sharing) {
    const unsigned width = kLanes << sharing.width_bits, channel = blockIdx.x * width + threadIdx.x;
    if (threadIdx.x < width && channel < sharing.vectors * kLanes) {
      const float inverse = 1 / sqrtf(affine.var[channel] + sharing.eps);
      centre[threadIdx.x] = affine.x_bias ? affine.mean[channel] - affine.x_bias[channel] : affine.mean[channel];
      scale[threadIdx.x] = affine.weight ? inverse * affine.weight[channel] : inverse;
      shift[threadIdx.x] = affine.bias ? affine.bias[channel] : 0;
    }
    __syncthreads();
  }
};

/// Of a thread's channels.
struct Scaling {
  float centre[kLanes], scale[kLanes], shift[kLanes];

  __device__ Scaling(const Factors& factors, const Sharing& sharing) {
    const unsigned lane0 = (threadIdx.x & ((1u << sharing.width_bits) - 1)) * kLanes;
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      centre[lane] = factors.centre[lane0 + lane];
      scale[lane] = factors.scale[lane0 + lane];
      shift[lane] = factors.shift[lane0 + lane];
    }
  }

  /// relu(values' own + added), and a bit for each that ReLU passes.
  template <typename Element>
  __device__ unsigned apply(Vector<Element>& values, const Vector<Element>* added, int relu) const {
    unsigned bits = 0;
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      float value = (widened(values.elements[lane]) - centre[lane]) * scale[lane] + shift[lane];
      if (added) value += widened(added->elements[lane]);
      const bool passes = value > 0 || value != value;
      bits |= static_cast<unsigned>(passes) << lane;
      values.elements[lane] = rounded<Element>(!relu || passes ? value : 0);
    }
    return bits;
  }
};

/// y = relu(norm(x) + residual) and the mask, a bit an element, from the sums. `most`: the rows that a thread has on their way.
template <int most, bool may_have_statistics, typename Element>
__device__ void normalize(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine& affine,
                          const float2* sums, const float* shifts, int relu, const Sharing& sharing) {
  __shared__ Factors factors;
  if (may_have_statistics && !sums) factors.take(affine, sharing);
  else factors.make(affine, sums, shifts, sharing);
  const Spot spot(sharing);
  if (spot.column >= sharing.vectors) return;
  const Scaling scaling(factors, sharing);
  over_rows<most>(spot, sharing, [&](auto together, Index first, Index apart) {
    constexpr int kCount = decltype(together)::kCount;
    Vector<Element> values[kCount], added[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Index at = first + k * apart;
      values[k].load(x, at);
      if (residual) added[k].load(residual, at);
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Index at = first + k * apart;
      const unsigned bits = scaling.apply(values[k], residual ? &added[k] : nullptr, relu);
      values[k].store(y, at);
      if (mask) mask[at] = static_cast<unsigned char>(bits);
    }
  });
}

template <bool may_have_statistics, typename Element>
__device__ void normalize(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine& affine,
                          const float2* sums, const float* shifts, int relu, const Sharing& sharing) {
  if (residual) normalize<1, may_have_statistics>(y, mask, x, residual, affine, sums, shifts, relu, sharing);
  else normalize<4 / sizeof(Element), may_have_statistics>(y, mask, x, residual, affine, sums, shifts, relu, sharing);
}

/// Sums and all the rest, of blocks that are there at once, and of `held` rows a thread at most, which are read once. The same bits.
template <int held, typename Element>
__device__ void normalize_held(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine& affine,
                               float2* sums, float* shifts, int relu, unsigned word, const Sharing& sharing) {
  const Spot spot(sharing);
  // Few rows: 32 bits count all of them.
  const unsigned apart = spot.height * sharing.vectors, begin = static_cast<unsigned>(spot.first);
  const bool works = spot.column < sharing.vectors;
  Vector<Element> values[held];
  float2 sum[kLanes] = {};
  if (works) {
#pragma unroll
    for (int k = 0; k < held; ++k)
      if (has_row(spot, k)) values[k].load(x, begin + k * apart);
    float shift[kLanes] = {};
    take_shift(shift, shifts, x, spot, sharing);
#pragma unroll
    for (int k = 0; k < held; ++k)
      if (has_row(spot, k)) add_squares(sum, shift, values[k]);
  }
  add_threads(sums, sum, sharing, spot);
  meet(word);
  __shared__ Factors factors;
  factors.make(affine, sums, shifts, sharing);
  if (!works) return;
#pragma unroll
  for (int k = 0; k < held; ++k) {
    if (!has_row(spot, k)) continue;
    const unsigned at = begin + k * apart;
    forget();
    const Scaling scaling(factors, sharing);
    Vector<Element> added;
    if (residual) added.load(residual, at);
    const unsigned bits = scaling.apply(values[k], residual ? &added : nullptr, relu);
    values[k].store(y, at);
    if (mask) mask[at] = static_cast<unsigned char>(bits);
  }
}

}  // namespace

#define SHEAF_NORM(suffix, Element)                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_squares_##suffix(float2* sums, float* shifts, const Element* x, const Sharing sharing) {                          \
    sum_squares(sums, shifts, x, sharing);                                                                                   \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_##suffix(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine affine,         \
                    const float2* sums, const float* shifts, int relu, const Sharing sharing) {                              \
    normalize<true>(y, mask, x, residual, affine, sums, shifts, relu, sharing);                                              \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_at_once_##suffix(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine affine, \
                            float2* sums, float* shifts, int relu, unsigned word, const Sharing sharing) {                   \
    sum_squares(sums, shifts, x, sharing);                                                                                   \
    meet(word);                                                                                                              \
    normalize<false>(y, mask, x, residual, affine, sums, shifts, relu, sharing);                                             \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_held_##suffix(Element* y, unsigned char* mask, const Element* x, const Element* residual, const Affine affine,    \
                         float2* sums, float* shifts, int relu, unsigned word, const Sharing sharing) {                      \
    normalize_held<8 / sizeof(Element)>(y, mask, x, residual, affine, sums, shifts, relu, word, sharing);                    \
  }
SHEAF_NORM(f32, float)
SHEAF_NORM(bf16, BFloat16)
SHEAF_NORM(f16, Float16)
