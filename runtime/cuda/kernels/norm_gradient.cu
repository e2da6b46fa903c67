// The gradient of batch norm, with those of ReLU and of the sum before it (norm.cuh).
#include "norm.cuh"

namespace {

/// The mean of x, from that of x + x_bias.
__device__ inline float centre_of(const float* mean, const float* x_bias, unsigned channel) {
  return x_bias ? mean[channel] - x_bias[channel] : mean[channel];
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
#pragma unroll
    for (unsigned lane = 0; lane < kLanes; ++lane) centre[lane] = centre_of(mean, x_bias, spot.column * kLanes + lane);
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
#pragma unroll
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          float g = widened(dys[k].elements[lane]);
          if (more) g = widened(rounded<Element>(g + widened(mores[k].elements[lane])));
          if (!(bits[k] >> lane & 1)) g = 0;
          dys[k].elements[lane] = rounded<Element>(g);
          sum[lane].x += g;
          sum[lane].y += g * (widened(values[k].elements[lane]) - centre[lane]);
        }
        if (gradient) dys[k].store(gradient, first + k * apart);
      }
    });
  }
  add_threads(sums, sum, sharing, spot);
}

/// dx = weight / sqrt(var + eps) · (g - Σg / M - x̂ · Σ(g · x̂) / M), x̂ = (x - mean) / sqrt(var + eps); g is what `mask`, if not null,
/// leaves of dy. dx may be dy. Also dweight = Σ(g · x̂) and dbias = Σg.
template <typename Element>
__device__ void normalize_gradient(Element* dx, float* dweight, float* dbias, const Element* x, const Element* dy,
                                   const unsigned char* mask, const float* mean, const float* x_bias, const float* var,
                                   const float* weight, const float2* sums, const Sharing& sharing) {
  __shared__ float2 total[kThreads];
  __shared__ float of_g[kMostChannels], of_x[kMostChannels], constants[kMostChannels];
  const Spot spot(sharing);
  add_parts(total, sums, sharing);
  const unsigned width = kLanes << sharing.width_bits, channel = blockIdx.x * width + threadIdx.x;
  if (threadIdx.x < width && channel < sharing.vectors * kLanes) {
    const float2 sum = total[threadIdx.x];
    const float share = 1 / static_cast<float>(sharing.rows);
    const float inverse = 1 / sqrtf(var[channel] + sharing.eps);
    const float scale = weight ? weight[channel] * inverse : inverse, along = sum.y * inverse;
    of_g[threadIdx.x] = scale;
    of_x[threadIdx.x] = -scale * inverse * (along * share);
    constants[threadIdx.x] = -scale * (sum.x * share);
    if (blockIdx.y == 0) {
      dweight[channel] = along;
      dbias[channel] = sum.x;
    }
  }
  __syncthreads();
  if (spot.column >= sharing.vectors) return;
  float centre[kLanes], by_g[kLanes], by_x[kLanes], constant[kLanes];
  const unsigned lane0 = (threadIdx.x & ((1u << sharing.width_bits) - 1)) * kLanes;
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    centre[lane] = centre_of(mean, x_bias, spot.column * kLanes + lane);
    by_g[lane] = of_g[lane0 + lane];
    by_x[lane] = of_x[lane0 + lane];
    constant[lane] = constants[lane0 + lane];
  }
  over_rows<sizeof(Element) == 2 ? 2 : 1>(spot, sharing, [&](auto together, Index first, Index apart) {
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
#pragma unroll
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const float g = bits[k] >> lane & 1 ? widened(gradients[k].elements[lane]) : 0;
        const float value = by_g[lane] * g + by_x[lane] * (widened(values[k].elements[lane]) - centre[lane]) + constant[lane];
        values[k].elements[lane] = rounded<Element>(value);
      }
      values[k].store(dx, first + k * apart);
    }
  });
}

}  // namespace

#define SHEAF_NORM_GRADIENT(suffix, Element)                                                                                  \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                        \
      norm_gradient_sums_##suffix(float2* sums, Element* gradient, const Element* x, const Element* dy, const Element* more,  \
                                  const unsigned char* mask, const float* mean, const float* x_bias, const Sharing sharing) { \
    if (more) sum_gradient<1>(sums, gradient, x, dy, more, mask, mean, x_bias, sharing);                                      \
    else sum_gradient<4 / sizeof(Element)>(sums, gradient, x, dy, more, mask, mean, x_bias, sharing);                         \
  }                                                                                                                           \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                        \
      norm_gradient_##suffix(Element* dx, float* dweight, float* dbias, const Element* x, const Element* dy,                  \
                             const unsigned char* mask, const float* mean, const float* x_bias, const float* var,             \
                             const float* weight, const float2* sums, const Sharing sharing) {                                \
    normalize_gradient(dx, dweight, dbias, x, dy, mask, mean, x_bias, var, weight, sums, sharing);                            \
  }
SHEAF_NORM_GRADIENT(f32, float)
SHEAF_NORM_GRADIENT(bf16, BFloat16)
SHEAF_NORM_GRADIENT(f16, Float16)
