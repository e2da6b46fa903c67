// A batch norm's statistics from sums over its values, which the convolution before it made, and what convolutions around it want of them.
#include "element.cuh"

namespace {

/// [channels] each. `mean` is of x + x_bias where there is that; `x_bias`, `weight` and `bias` may be null.
struct Statistics {
  float *mean, *var;
  const float *x_bias, *weight, *bias;
};

/// sums: [2][channels], Σ x and Σ x². moments, if not null: [2][channels], the mean of x, and 1 / sqrt(var + eps). factors, if not null:
/// [2][channels], such that x · the first + the second is the norm.
template <typename Element>
__device__ void make_statistics(Element* factors, float* moments, const Statistics& made, const float* sums,
                                unsigned long long channels, float count, float eps) {
  const unsigned long long channel = blockIdx.x * 256ull + threadIdx.x;
  if (channel >= channels) return;
  const float mean = sums[channel] / count, square = sums[channels + channel] / count - mean * mean;
  const float var = square < 0 ? 0 : square, inverse = 1 / sqrtf(var + eps);
  made.mean[channel] = made.x_bias ? mean + made.x_bias[channel] : mean;
  made.var[channel] = var;
  if (!moments) return;
  moments[channel] = mean;
  moments[channels + channel] = inverse;
  if (!factors) return;
  const Element scale = rounded<Element>(made.weight ? inverse * made.weight[channel] : inverse);
  factors[channel] = scale;
  // By the scale as it is rounded, so that the mean becomes the bias.
  factors[channels + channel] = rounded<Element>((made.bias ? made.bias[channel] : 0) - mean * widened(scale));
}

}  // namespace

#define SHEAF_NORM_STATISTICS(suffix, Element)                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                                        \
      norm_statistics_##suffix(Element* factors, float* moments, const Statistics made, const float* sums, \
                               unsigned long long channels, float count, float eps) {                      \
    make_statistics(factors, moments, made, sums, channels, count, eps);                                   \
  }
SHEAF_NORM_STATISTICS(f32, float)
SHEAF_NORM_STATISTICS(bf16, BFloat16)
SHEAF_NORM_STATISTICS(f16, Float16)
