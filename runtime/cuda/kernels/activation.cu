// y = activation(x + bias + residual), for library calls that lack one of these or would make a number of NaN.
#include "element.cuh"

namespace {

/// Kinds as runtime/cuda/own_launch.h has them. NaN stays NaN in each.
template <int kind>
__device__ float activated(float alpha, float beta, float x) {
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

struct Kind {
  int kind;
  float alpha, beta;

  /// All values by one kind: what it computes stands together in the machine code.
  template <int count>
  __device__ void apply(float (&values)[count]) const {
    switch (kind) {
      case 1: return each<1>(values);
      case 2: return each<2>(values);
      case 3: return each<3>(values);
      case 4: return each<4>(values);
      case 5: return each<5>(values);
      case 6: return each<6>(values);
      case 7: return each<7>(values);
      case 8: return each<8>(values);
      default: return;
    }
  }

 private:
  template <int which, int count>
  __device__ void each(float (&values)[count]) const {
#pragma unroll
    for (int j = 0; j < count; ++j) values[j] = activated<which>(alpha, beta, values[j]);
  }
};

using Index = unsigned long long;

/// bias[(i / inner) % channels] is element i's: inner is 1 with channels last, the positions of a plane where x is plain.
struct Bias {
  const float* bias;
  Index inner, channels;
  bool narrow;  ///< 32 bits hold every index

  __device__ Index channel(Index i) const {
    return narrow ? static_cast<unsigned>(i) / static_cast<unsigned>(inner) % static_cast<unsigned>(channels)
                  : i / inner % channels;
  }

  /// To the elements from i on, which are a vector's, or one. Vectors of one channel, or of neighbouring ones, take one division.
  template <int count>
  __device__ void add(float (&values)[count], Index i) const {
    if (!bias) return;
    const bool neighbours = inner == 1 && channels % count == 0;
    if (neighbours || inner % count == 0) {
      const float* from = bias + channel(i);
#pragma unroll
      for (int j = 0; j < count; ++j) values[j] += from[neighbours ? j : 0];
    } else {
#pragma unroll
      for (int j = 0; j < count; ++j) values[j] += bias[channel(i + j)];
    }
  }
};

template <typename Element>
struct Vector {
  static constexpr int kLanes = 16 / sizeof(Element);
  union {
    uint4 vector;
    Element elements[kLanes];
  };
};

/// Vectors that a thread has on their way at once, of x and of the residual each.
constexpr int kTogether = 2;

/// bias and residual may be null; y may be x or residual. A replica's chunk may begin at any element: then none go by vectors.
template <typename Element>
__device__ void activate(Element* y, const Element* x, const Bias& bias, const Element* residual, Index elements,
                         const Kind& kind) {
  constexpr int kLanes = Vector<Element>::kLanes;
  const Index addresses = reinterpret_cast<Index>(y) | reinterpret_cast<Index>(x) | reinterpret_cast<Index>(residual);
  const Index vectors = addresses % 16 == 0 ? elements / kLanes : 0, step = grid_size();
  for (Index i = first_index(); i < vectors; i += kTogether * step) {
    Vector<Element> value[kTogether], added[kTogether];
    Index at[kTogether];
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      at[k] = i + k * step < vectors ? i + k * step : i;  // the first once more, where there is none: it is the same
      value[k].vector = reinterpret_cast<const uint4*>(x)[at[k]];
    }
    if (residual) {
#pragma unroll
      for (int k = 0; k < kTogether; ++k) added[k].vector = reinterpret_cast<const uint4*>(residual)[at[k]];
    }
#pragma unroll
    for (int k = 0; k < kTogether; ++k) {
      float wide[kLanes];
#pragma unroll
      for (int j = 0; j < kLanes; ++j) wide[j] = widened(value[k].elements[j]);
      bias.add(wide, at[k] * kLanes);
      if (residual) {
#pragma unroll
        for (int j = 0; j < kLanes; ++j) wide[j] += widened(added[k].elements[j]);
      }
      kind.apply(wide);
#pragma unroll
      for (int j = 0; j < kLanes; ++j) value[k].elements[j] = rounded<Element>(wide[j]);
      reinterpret_cast<uint4*>(y)[at[k]] = value[k].vector;
    }
  }
  for (Index j = vectors * kLanes + first_index(); j < elements; j += step) {
    float value[1] = {widened(x[j])};
    bias.add(value, j);
    if (residual) value[0] += widened(residual[j]);
    kind.apply(value);
    y[j] = rounded<Element>(value[0]);
  }
}

}  // namespace

// 1024 threads of a multiprocessor, with 32 bytes each on their way: 4.3 MB on 132 of them.
#define SHEAF_ACTIVATE(name, Element)                                                                              \
  extern "C" __global__ void __launch_bounds__(256, 4)                                                             \
      name(Element* y, const Element* x, const float* bias, const Element* residual, unsigned long long elements,  \
           unsigned long long inner, unsigned long long channels, int kind, float alpha, float beta) {             \
    activate(y, x, Bias{bias, inner, channels, elements >> 32 == 0}, residual, elements, Kind{kind, alpha, beta}); \
  }
SHEAF_ACTIVATE(activate_f32, float)
SHEAF_ACTIVATE(activate_bf16, BFloat16)
SHEAF_ACTIVATE(activate_f16, Float16)
