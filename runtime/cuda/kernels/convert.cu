// y = x in another type: results that a library writes as narrow as its operands, a bias that it wants as narrow as its result.
#include "element.cuh"

namespace {

/// A thread's share of one turn: 16 bytes of narrow elements, 32 of f32.
constexpr int kWidth = 8;
template <typename Element>
union Narrow {
  uint4 vector;
  Element element[kWidth];
};
union Wide {
  float4 vector[2];
  float element[kWidth];
};

/// How many elements go by vectors: a replica's chunk may begin at any element, and a tensor's last vector may be short.
__device__ inline unsigned long long in_vectors(const void* x, const void* y, unsigned long long elements) {
  const auto addresses = reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y);
  return addresses % 16 == 0 ? elements / kWidth * kWidth : 0;
}

/// `Index`: 32 bits wide where they count all elements and what a grid steps beyond them.
template <typename Index, typename Element>
__device__ void widen(float* y, const Element* x, Index elements, Index vectors) {
  const Index step = static_cast<Index>(grid_size());
  for (Index i = static_cast<Index>(first_index()); i < vectors / kWidth; i += step) {
    Narrow<Element> from;
    Wide to;
    from.vector = reinterpret_cast<const uint4*>(x)[i];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) to.element[j] = widened(from.element[j]);
    reinterpret_cast<float4*>(y)[2 * i] = to.vector[0];
    reinterpret_cast<float4*>(y)[2 * i + 1] = to.vector[1];
  }
  for (Index i = vectors + static_cast<Index>(first_index()); i < elements; i += step) y[i] = widened(x[i]);
}

template <typename Index, typename Element>
__device__ void narrow(Element* y, const float* x, Index elements, Index vectors) {
  const Index step = static_cast<Index>(grid_size());
  for (Index i = static_cast<Index>(first_index()); i < vectors / kWidth; i += step) {
    Wide from;
    Narrow<Element> to;
    from.vector[0] = reinterpret_cast<const float4*>(x)[2 * i];
    from.vector[1] = reinterpret_cast<const float4*>(x)[2 * i + 1];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) to.element[j] = rounded<Element>(from.element[j]);
    reinterpret_cast<uint4*>(y)[i] = to.vector;
  }
  for (Index i = vectors + static_cast<Index>(first_index()); i < elements; i += step) y[i] = rounded<Element>(x[i]);
}

template <typename Element>
__device__ void widen(float* y, const Element* x, unsigned long long elements) {
  const unsigned long long vectors = in_vectors(x, y, elements);
  if (counted_in_32_bits(elements)) widen<unsigned>(y, x, static_cast<unsigned>(elements), static_cast<unsigned>(vectors));
  else widen<unsigned long long>(y, x, elements, vectors);
}

template <typename Element>
__device__ void narrow(Element* y, const float* x, unsigned long long elements) {
  const unsigned long long vectors = in_vectors(x, y, elements);
  if (counted_in_32_bits(elements)) narrow<unsigned>(y, x, static_cast<unsigned>(elements), static_cast<unsigned>(vectors));
  else narrow<unsigned long long>(y, x, elements, vectors);
}

/// What the i-th row of a table says, of 3 numbers: elements, then the addresses of x and y.
template <typename To, typename From, typename Convert>
__device__ void convert_many(const unsigned long long* table, unsigned long long count, const int* guard, Convert convert) {
  if (held_back(guard)) return;
  for (unsigned long long i = blockIdx.y; i < count; i += gridDim.y) {
    const unsigned long long* row = table + 3 * i;
    const auto* x = reinterpret_cast<const From*>(row[1]);
    auto* y = reinterpret_cast<To*>(row[2]);
    __builtin_assume(__isGlobal(x) && __isGlobal(y));  // an address from memory could be one of any kind
    convert(y, x, row[0]);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256) widen_bf16(float* y, const BFloat16* x, unsigned long long elements) {
  widen(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) widen_f16(float* y, const Float16* x, unsigned long long elements) {
  widen(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) narrow_bf16(BFloat16* y, const float* x, unsigned long long elements) {
  narrow(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256) narrow_f16(Float16* y, const float* x, unsigned long long elements) {
  narrow(y, x, elements);
}
extern "C" __global__ void __launch_bounds__(256)
    widen_bf16_many(const unsigned long long* table, unsigned long long count, const int* guard) {
  convert_many<float, BFloat16>(table, count, guard, [](float* y, const BFloat16* x, unsigned long long n) { widen(y, x, n); });
}
extern "C" __global__ void __launch_bounds__(256)
    narrow_bf16_many(const unsigned long long* table, unsigned long long count, const int* guard) {
  convert_many<BFloat16, float>(table, count, guard,
                                [](BFloat16* y, const float* x, unsigned long long n) { narrow(y, x, n); });
}
extern "C" __global__ void __launch_bounds__(256)
    widen_f16_many(const unsigned long long* table, unsigned long long count, const int* guard) {
  convert_many<float, Float16>(table, count, guard, [](float* y, const Float16* x, unsigned long long n) { widen(y, x, n); });
}
extern "C" __global__ void __launch_bounds__(256)
    narrow_f16_many(const unsigned long long* table, unsigned long long count, const int* guard) {
  convert_many<Float16, float>(table, count, guard, [](Float16* y, const float* x, unsigned long long n) { narrow(y, x, n); });
}
