// Elements as numbers: f32 as it is; bf16 and f16 widened, and rounded to nearest, ties to even, when they are stored. Every
// sum of the kernels here is in f32.
#pragma once

struct BFloat16 {
  unsigned short bits;
};
struct Float16 {
  unsigned short bits;
};

__device__ inline float widened(float x) { return x; }
__device__ inline float widened(BFloat16 x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }
__device__ inline float widened(Float16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}

template <typename Element>
__device__ inline Element rounded(float x);
template <>
__device__ inline float rounded<float>(float x) {
  return x;
}
template <>
__device__ inline BFloat16 rounded<BFloat16>(float x) {
  const unsigned wide = __float_as_uint(x);
  const unsigned short bits = x != x ? 0x7fc0 : static_cast<unsigned short>((wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  return {bits};
}
template <>
__device__ inline Float16 rounded<Float16>(float x) {
  Float16 narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
  return narrow;
}

/// Neighbouring elements that one access of 16 bytes reads or writes.
template <typename Element>
union Lanes {
  static constexpr unsigned kCount = 16 / sizeof(Element);
  uint4 vector;
  Element element[kCount];
};

/// Whether the operation must do nothing, because one before it has failed.
__device__ inline bool held_back(const int* guard) { return guard != nullptr && *guard != 0; }

/// Where this thread begins, and how far apart its elements are, in a loop over a range that the whole grid shares.
__device__ inline unsigned long long first_index() {
  return static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline unsigned long long grid_size() { return static_cast<unsigned long long>(gridDim.x) * blockDim.x; }
/// Whether 32 bits hold every index of a loop over so many elements, the one behind a thread's last too.
__device__ inline bool counted_in_32_bits(unsigned long long elements) { return elements + grid_size() <= 0xffffffffull; }
