// The gradient of batch norm, with those of ReLU and of the sum before it (norm.cuh).
#include "norm.cuh"

namespace {

/// The mean of x, from that of x + x_bias.
__device__ inline float centre_of(const float* mean, const float* x_bias, unsigned channel) {
  return x_bias ? mean[channel] - x_bias[channel] : mean[channel];
}

template <typename Element>
__device__ void take_centre(float (&centre)[kLanes], const float* mean, const float* x_bias, const Spot& spot) {
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) centre[lane] = centre_of(mean, x_bias, spot.column * kLanes + lane);
}

/// dy becomes g: dy, plus `more` where there is that, where `bits` are set. Adds g and g · (x - centre).
template <typename Element>
__device__ void add_gradient(float2 (&sum)[kLanes], Vector<Element>& dy, const Vector<Element>* more, unsigned bits,
                             const Vector<Element>& x, const float (&centre)[kLanes]) {
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    float g = widened(dy.elements[lane]);
    if (more) g = widened(rounded<Element>(g + widened(more->elements[lane])));
    if (!(bits >> lane & 1)) g = 0;
    dy.elements[lane] = rounded<Element>(g);
    sum[lane].x += g;
    sum[lane].y += g * (widened(x.elements[lane]) - centre[lane]);
  }
}

/// sums: Σ g and Σ g · (x - mean) of each channel; g is dy, plus `more` where there is that, where the mask is set. `gradient`, if
/// not null, is g. `most`: as normalize().
template <int most, typename Element>
__device__ void sum_gradient(float2* sums, Element* gradient, const Element* x, const Element* dy, const Element* more,
                             const unsigned char* mask, const float* mean, const float* x_bias, const Sharing& sharing) {
  const Spot spot(sharing);
  float2 sum[kLanes] = {};
  if (spot.column < sharing.vectors) {
    float centre[kLanes];
    take_centre<Element>(centre, mean, x_bias, spot);
    over_rows<most>(spot, sharing, [&](auto together, Index first, Index apart) {
      constexpr int kCount = decltype(together)::kCount;
      Vector<Element> values[kCount], dys[kCount], mores[kCount];
      unsigned bits[kCount];
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        const Index at = first + k * apart;
        values[k].load(x, at);
        dys[k].load(dy, at);
        if (more) mores[k].load(more, at);
        bits[k] = mask ? mask[at] : 0xff;
      }
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
        add_gradient(sum, dys[k], more ? &mores[k] : nullptr, bits[k], values[k], centre);
        if (gradient) dys[k].store(gradient, first + k * apart);
      }
    });
  }
  add_threads(sums, sum, sharing, spot);
}

template <typename Element>
__device__ void sum_gradient(float2* sums, Element* gradient, const Element* x, const Element* dy, const Element* more,
                             const unsigned char* mask, const float* mean, const float* x_bias, const Sharing& sharing) {
  if (more) sum_gradient<1>(sums, gradient, x, dy, more, mask, mean, x_bias, sharing);
  else sum_gradient<4 / sizeof(Element)>(sums, gradient, x, dy, more, mask, mean, x_bias, sharing);
}

/// What the gradient makes besides dx, and takes besides tensors of its shape. Without a mean, which norm_gradient_… alone allows: nothing, and
/// sums are slopes [3][channels] of dx = g · the first + x · the second + the third.
struct OfChannels {
  float *dweight, *dbias;
  const float *mean, *x_bias, *var, *weight;
};

/// dx = g · by_g + (x - centre) · by_x + constant, of a tile's channels: weight / sqrt(var + eps) · (g - Σg / M - x̂ · Σ(g · x̂) / M),
/// x̂ = (x - mean) / sqrt(var + eps).
struct Factors {
  float centre[kMostChannels], by_g[kMostChannels], by_x[kMostChannels], constant[kMostChannels];

  /// From the sums; also dweight = Σ(g · x̂) and dbias = Σg.
  __device__ void make(const OfChannels& of, const float2* sums, const Sharing& sharing) {
    __shared__ float2 total[kThreads];
    add_parts(total, sums, sharing);
    const unsigned width = kLanes << sharing.width_bits, channel = blockIdx.x * width + threadIdx.x;
    if (threadIdx.x < width && channel < sharing.vectors * kLanes) {
      const float2 sum = total[threadIdx.x];
      const float share = 1 / static_cast<float>(sharing.rows);
      const float inverse = 1 / sqrtf(of.var[channel] + sharing.eps);
      const float scale = of.weight ? of.weight[channel] * inverse : inverse, along = sum.y * inverse;
      centre[threadIdx.x] = centre_of(of.mean, of.x_bias, channel);
      by_g[threadIdx.x] = scale;
      by_x[threadIdx.x] = -scale * inverse * (along * share);
      constant[threadIdx.x] = -scale * (sum.x * share);
      if (blockIdx.y == 0) {
        of.dweight[channel] = along;
        of.dbias[channel] = sum.x;
      }
    }
    __syncthreads();
  }

  __device__ void take(const float* slopes, const Sharing& sharing) {
    const unsigned width = kLanes << sharing.width_bits, channels = sharing.vectors * kLanes;
    const unsigned channel = blockIdx.x * width + threadIdx.x;
    if (threadIdx.x < width && channel < channels) {
      centre[threadIdx.x] = 0;
      by_g[threadIdx.x] = slopes[channel];
      by_x[threadIdx.x] = slopes[channels + channel];
      constant[threadIdx.x] = slopes[2 * channels + channel];
    }
    __syncthreads();
  }
};

/// Of a thread's channels.
struct Slope {
  float centre[kLanes], by_g[kLanes], by_x[kLanes], constant[kLanes];

  __device__ Slope(const Factors& factors, const Sharing& sharing) {
    const unsigned lane0 = (threadIdx.x & ((1u << sharing.width_bits) - 1)) * kLanes;
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      centre[lane] = factors.centre[lane0 + lane];
      by_g[lane] = factors.by_g[lane0 + lane];
      by_x[lane] = factors.by_x[lane0 + lane];
      constant[lane] = factors.constant[lane0 + lane];
    }
  }

  /// x becomes dx; g counts where `bits` are set.
  template <typename Element>
  __device__ void apply(Vector<Element>& x, const Vector<Element>& gradient, unsigned bits) const {
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const float g = bits >> lane & 1 ? widened(gradient.elements[lane]) : 0;
      const float value = by_g[lane] * g + by_x[lane] * (widened(x.elements[lane]) - centre[lane]) + constant[lane];
      x.elements[lane] = rounded<Element>(value);
    }
  }
};

/// dx from the sums; g is what `mask`, if not null, leaves of dy. dx may be dy.
template <int most, bool has_slopes, typename Element>
__device__ void normalize_gradient(Element* dx, const Element* x, const Element* dy, const unsigned char* mask,
                                   const OfChannels& of, const float2* sums, const Sharing& sharing) {
  __shared__ Factors factors;
  if (has_slopes && !of.mean) factors.take(reinterpret_cast<const float*>(sums), sharing);
  else factors.make(of, sums, sharing);
  const Spot spot(sharing);
  if (spot.column >= sharing.vectors) return;
  const Slope slope(factors, sharing);
  over_rows<most>(spot, sharing, [&](auto together, Index first, Index apart) {
    constexpr int kCount = decltype(together)::kCount;
    Vector<Element> values[kCount], gradients[kCount];
    unsigned bits[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const Index at = first + k * apart;
      values[k].load(x, at);
      gradients[k].load(dy, at);
      bits[k] = mask ? mask[at] : 0xff;
    }
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      slope.apply(values[k], gradients[k], bits[k]);
      values[k].store(dx, first + k * apart);
    }
  });
}

/// Sums and all the rest, of blocks that are there at once, and of `held` rows a thread at most, which are read once. The same bits.
template <int held, typename Element>
__device__ void normalize_gradient_held(Element* dx, Element* gradient, const Element* x, const Element* dy,
                                        const Element* more, const unsigned char* mask, const OfChannels& of, float2* sums,
                                        unsigned word, const Sharing& sharing) {
  const Spot spot(sharing);
  // Few rows: 32 bits count all of them.
  const unsigned apart = spot.height * sharing.vectors, begin = static_cast<unsigned>(spot.first);
  const bool works = spot.column < sharing.vectors;
  Vector<Element> values[held], dys[held];
  float2 sum[kLanes] = {};
  if (works) {
#pragma unroll
    for (int k = 0; k < held; ++k) {
      if (!has_row(spot, k)) continue;
      const unsigned at = begin + k * apart;
      values[k].load(x, at);
      dys[k].load(dy, at);
    }
    float centre[kLanes];
    take_centre<Element>(centre, of.mean, of.x_bias, spot);
#pragma unroll
    for (int k = 0; k < held; ++k) {
      if (!has_row(spot, k)) continue;
      const unsigned at = begin + k * apart;
      Vector<Element> added;
      if (more) added.load(more, at);
      add_gradient(sum, dys[k], more ? &added : nullptr, mask ? mask[at] : 0xff, values[k], centre);
      if (gradient) dys[k].store(gradient, at);
    }
  }
  add_threads(sums, sum, sharing, spot);
  meet(word);
  __shared__ Factors factors;
  factors.make(of, sums, sharing);
  if (!works) return;
#pragma unroll
  for (int k = 0; k < held; ++k) {
    if (!has_row(spot, k)) continue;
    forget();
    const Slope slope(factors, sharing);
    slope.apply(values[k], dys[k], 0xff);
    values[k].store(dx, begin + k * apart);
  }
}

}  // namespace

#define SHEAF_NORM_GRADIENT(suffix, Element)                                                                                   \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                         \
      norm_gradient_sums_##suffix(float2* sums, Element* gradient, const Element* x, const Element* dy, const Element* more,   \
                                  const unsigned char* mask, const float* mean, const float* x_bias, const Sharing sharing) {  \
    sum_gradient(sums, gradient, x, dy, more, mask, mean, x_bias, sharing);                                                    \
  }                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                         \
      norm_gradient_##suffix(Element* dx, const Element* x, const Element* dy, const unsigned char* mask, const OfChannels of, \
                             const float2* sums, const Sharing sharing) {                                                      \
    normalize_gradient<4 / sizeof(Element), true>(dx, x, dy, mask, of, sums, sharing);                                         \
  }                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(512, 2) norm_gradient_at_once_##suffix(                                         \
      Element* dx, Element* gradient, const Element* x, const Element* dy, const Element* more, const unsigned char* mask,     \
      const OfChannels of, float2* sums, unsigned word, const Sharing sharing) {                                               \
    sum_gradient(sums, gradient, x, dy, more, mask, of.mean, of.x_bias, sharing);                                              \
    meet(word);                                                                                                                \
    normalize_gradient<1, false>(dx, x, gradient ? gradient : dy, gradient ? nullptr : mask, of, sums, sharing);               \
  }                                                                                                                            \
  extern "C" __global__ void __launch_bounds__(512, 2) norm_gradient_held_##suffix(                                            \
      Element* dx, Element* gradient, const Element* x, const Element* dy, const Element* more, const unsigned char* mask,     \
      const OfChannels of, float2* sums, unsigned word, const Sharing sharing) {                                               \
    normalize_gradient_held<4 / sizeof(Element)>(dx, gradient, x, dy, more, mask, of, sums, word, sharing);                    \
  }
SHEAF_NORM_GRADIENT(f32, float)
SHEAF_NORM_GRADIENT(bf16, BFloat16)
SHEAF_NORM_GRADIENT(f16, Float16)
