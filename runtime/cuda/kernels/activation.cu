// y = activation(x + bias + residual), for library calls that lack one of these or would make a number of NaN.
#include "element.cuh"

namespace {

/// Kinds as runtime/cuda/own_launch.h has them. NaN stays NaN in each.
__device__ float activated(int kind, float alpha, float beta, float x) {
  switch (kind) {
    case 1:  // relu, leaky_relu
      return x > 0 || x != x ? x : alpha == 0 ? 0.0f : alpha * x;
    case 2:  // elu
      return x > 0 ? x : alpha * expm1f(x);
    case 3:  // silu
      return x / (1 + expf(-x));
    case 4:  // gelu
      return 0.5f * x * (1 + erff(x * 0.70710678118654752f));
    case 5:  // gelu_tanh
      return 0.5f * x * (1 + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
    case 6:  // tanh
      return tanhf(x);
    case 7:  // sigmoid
      return 1 / (1 + expf(-x));
    case 8:  // hardtanh
      return x < alpha ? alpha : x > beta ? beta : x;
    default: return x;
  }
}

/// bias[(i / inner) % channels] is element i's: inner is 1 with channels last, the positions of a plane where x is plain. bias
/// and residual may be null; y may be x or residual.
template <typename Element>
__device__ void activate(Element* y, const Element* x, const float* bias, const Element* residual, unsigned long long elements,
                         unsigned long long inner, unsigned long long channels, int kind, float alpha, float beta) {
  constexpr int width = 16 / sizeof(Element);
  union Lanes {
    uint4 vector;
    Element element[width];
  };
  const unsigned long long addresses = reinterpret_cast<unsigned long long>(y) | reinterpret_cast<unsigned long long>(x) |
                                       reinterpret_cast<unsigned long long>(residual);
  for (unsigned long long i = first_index() * width; i < elements; i += grid_size() * width) {
    const bool whole = addresses % 16 == 0 && i + width <= elements;  // a chunk may begin at any element
    const int count = i + width <= elements ? width : static_cast<int>(elements - i);
    Lanes value, added;
    if (whole) value.vector = *reinterpret_cast<const uint4*>(x + i);
    if (whole && residual) added.vector = *reinterpret_cast<const uint4*>(residual + i);
#pragma unroll
    for (int j = 0; j < width; ++j) {
      if (j >= count) break;
      float v = widened(whole ? value.element[j] : x[i + j]);
      if (bias)
        v += bias[(elements >> 32 == 0
                       ? static_cast<unsigned>(i + j) / static_cast<unsigned>(inner) % static_cast<unsigned>(channels)
                       : (i + j) / inner % channels)];
      if (residual) v += widened(whole ? added.element[j] : residual[i + j]);
      const Element result = rounded<Element>(activated(kind, alpha, beta, v));
      if (whole) value.element[j] = result;
      else y[i + j] = result;
    }
    if (whole) *reinterpret_cast<uint4*>(y + i) = value.vector;
  }
}

}  // namespace

#define SHEAF_ACTIVATE(name, Element)                                                                             \
  extern "C" __global__ void __launch_bounds__(256)                                                               \
      name(Element* y, const Element* x, const float* bias, const Element* residual, unsigned long long elements, \
           unsigned long long inner, unsigned long long channels, int kind, float alpha, float beta) {            \
    activate(y, x, bias, residual, elements, inner, channels, kind, alpha, beta);                                 \
  }
SHEAF_ACTIVATE(activate_f32, float)
SHEAF_ACTIVATE(activate_bf16, BFloat16)
SHEAF_ACTIVATE(activate_f16, Float16)
