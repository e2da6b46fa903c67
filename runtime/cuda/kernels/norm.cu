// Batch norm, ReLU and the addition of a residual with it (norm.cuh).
#include "norm.cuh"

namespace {

/// sums: Σ (x - s) and Σ (x - s)² of each channel; s, in `shifts`, is the mean of eight values, so that the variance is no difference
/// of large numbers.
template <typename Element>
__device__ void sum_squares(float2* sums, float* shifts, const Element* x, const Sharing& sharing) {
  const Spot spot(sharing);
  float2 sum[kLanes] = {};
  float shift[kLanes] = {};
  if (spot.column < sharing.vectors) {
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
    over_rows<sizeof(Element) == 2 ? 4 : 2>(spot, sharing, [&](auto together, Index first, Index apart) {
      constexpr int kCount = decltype(together)::kCount;
      Vector<Element> values[kCount];
#pragma unroll
      for (int k = 0; k < kCount; ++k) values[k].load(x, first + k * apart);
#pragma unroll
      for (int k = 0; k < kCount; ++k) {
#pragma unroll
        for (unsigned lane = 0; lane < kLanes; ++lane) {
          const float value = widened(values[k].elements[lane]) - shift[lane];
          sum[lane].x += value;
          sum[lane].y += value * value;
        }
      }
    });
  }
  add_threads(sums, sum, sharing, spot);
}

/// y = relu((x - mean) / sqrt(var + eps) · weight + bias + residual) from the sums; also var, the mask, a bit an element, and the
/// mean, of x + x_bias where there is that: nothing else would change by it.
/// `most`: the rows that a thread has on their way.
template <int most, typename Element>
__device__ void normalize(Element* y, unsigned char* mask, float* mean, float* var, const Element* x, const Element* residual,
                          const float* x_bias, const float* weight, const float* bias, const float2* sums, const float* shifts,
                          int relu, const Sharing& sharing) {
  __shared__ float2 total[kThreads];
  __shared__ float means[kMostChannels], scales[kMostChannels];
  const Spot spot(sharing);
  add_parts(total, sums, sharing);
  const unsigned width = kLanes << sharing.width_bits, channel = blockIdx.x * width + threadIdx.x;
  if (threadIdx.x < width && channel < sharing.vectors * kLanes) {
    const float2 sum = total[threadIdx.x];
    const float count = static_cast<float>(sharing.rows), off = sum.x / count, square = sum.y / count - off * off;
    const float centre = shifts[channel] + off, variance = square < 0 ? 0 : square;
    means[threadIdx.x] = centre;
    const float scale = 1 / sqrtf(variance + sharing.eps);
    scales[threadIdx.x] = weight ? scale * weight[channel] : scale;
    if (blockIdx.y == 0) {
      mean[channel] = x_bias ? centre + x_bias[channel] : centre;
      var[channel] = variance;
    }
  }
  __syncthreads();
  if (spot.column >= sharing.vectors) return;
  float centre[kLanes], scale[kLanes], shift[kLanes];
  const unsigned lane0 = (threadIdx.x & ((1u << sharing.width_bits) - 1)) * kLanes;
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    centre[lane] = means[lane0 + lane];
    scale[lane] = scales[lane0 + lane];
    shift[lane] = bias ? bias[spot.column * kLanes + lane] : 0;
  }
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
      unsigned bits = 0;
#pragma unroll
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        float value = (widened(values[k].elements[lane]) - centre[lane]) * scale[lane] + shift[lane];
        if (residual) value += widened(added[k].elements[lane]);
        const bool passes = value > 0 || value != value;
        bits |= static_cast<unsigned>(passes) << lane;
        values[k].elements[lane] = rounded<Element>(!relu || passes ? value : 0);
      }
      values[k].store(y, at);
      if (mask) mask[at] = static_cast<unsigned char>(bits);
    }
  });
}

}  // namespace

#define SHEAF_NORM(suffix, Element)                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_squares_##suffix(float2* sums, float* shifts, const Element* x, const Sharing sharing) {                          \
    sum_squares(sums, shifts, x, sharing);                                                                                   \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(512, 2)                                                                       \
      norm_##suffix(Element* y, unsigned char* mask, float* mean, float* var, const Element* x, const Element* residual,     \
                    const float* x_bias, const float* weight, const float* bias, const float2* sums, const float* shifts,    \
                    int relu, const Sharing sharing) {                                                                       \
    if (residual) normalize<1>(y, mask, mean, var, x, residual, x_bias, weight, bias, sums, shifts, relu, sharing);          \
    else normalize<4 / sizeof(Element)>(y, mask, mean, var, x, residual, x_bias, weight, bias, sums, shifts, relu, sharing); \
  }
SHEAF_NORM(f32, float)
SHEAF_NORM(bf16, BFloat16)
SHEAF_NORM(f16, Float16)
