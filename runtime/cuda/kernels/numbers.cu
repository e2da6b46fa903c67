// y = the number that each byte of x stands for, by its channel: what a loader would have looked up, rounded where y is narrow.
#include "element.cuh"

/// As many channels as a picture has; as the host has them (runtime/cuda/own_numbers.cpp).
constexpr unsigned kChannels = 3;
struct Numbers {
  float of[kChannels * 256];
};

namespace {

constexpr unsigned kTogether = 4;  // groups that a thread has on their way

/// As many bytes as their numbers fill 16 bytes.
template <typename Element>
struct Group {
  static constexpr unsigned kCount = Lanes<Element>::kCount;
  unsigned words[kCount / 4];

  __device__ void load(const unsigned char* x, unsigned long long group) {
    if constexpr (kCount == 4) {
      words[0] = reinterpret_cast<const unsigned*>(x)[group];
    } else {
      const uint2 both = reinterpret_cast<const uint2*>(x)[group];
      words[0] = both.x;
      words[1] = both.y;
    }
  }
};

/// Element i has channel (i / inner) % channels. `groups`: each of one channel; what follows them goes one by one.
template <typename Index, typename Element>
__device__ void look_up(Element* y, const unsigned char* x, Index elements, Index groups, Index inner, unsigned channels,
                        const Element* numbers) {
  constexpr unsigned kCount = Group<Element>::kCount;
  const Index step = static_cast<Index>(grid_size()), first = static_cast<Index>(first_index());
  for (Index i = first; i < groups; i += kTogether * step) {
    Group<Element> group[kTogether] = {};
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k)
      if (i + k * step < groups) group[k].load(x, i + k * step);
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k) {
      const Index at = i + k * step;
      if (at >= groups) break;
      const Element* of = channels == 1 ? numbers : numbers + 256 * static_cast<unsigned>(at / (inner / kCount) % channels);
      Lanes<Element> made;
#pragma unroll
      for (unsigned lane = 0; lane < kCount; ++lane) made.element[lane] = of[group[k].words[lane / 4] >> (lane % 4 * 8) & 255];
      reinterpret_cast<uint4*>(y)[at] = made.vector;
    }
  }
  for (Index i = kCount * groups + first; i < elements; i += step)
    y[i] = numbers[(channels == 1 ? 0 : 256 * static_cast<unsigned>(i / inner % channels)) + x[i]];
}

template <typename Element>
__device__ void numbers_of_bytes(Element* y, const unsigned char* x, unsigned long long elements, unsigned long long inner,
                                 unsigned channels, const Numbers& given) {
  constexpr unsigned kCount = Group<Element>::kCount;
  __shared__ Element numbers[kChannels * 256];
  for (unsigned i = threadIdx.x; i < channels * 256; i += blockDim.x) numbers[i] = rounded<Element>(given.of[i]);
  __syncthreads();
  const bool aligned = (reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y)) % 16 == 0;
  const unsigned long long groups = aligned && (channels == 1 || inner % kCount == 0) ? elements / kCount : 0;
  // A turn goes up to kTogether grids beyond the last index.
  if (counted_in_32_bits(elements + kTogether * grid_size()))
    look_up<unsigned>(y, x, static_cast<unsigned>(elements), static_cast<unsigned>(groups), static_cast<unsigned>(inner),
                      channels, numbers);
  else look_up<unsigned long long>(y, x, elements, groups, inner, channels, numbers);
}

}  // namespace

#define SHEAF_NUMBERS(suffix, Element)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256)                                                                        \
      numbers_of_bytes_##suffix(Element* y, const unsigned char* x, unsigned long long elements, unsigned long long inner, \
                                unsigned channels, const __grid_constant__ Numbers given) {                                \
    numbers_of_bytes(y, x, elements, inner, channels, given);                                                              \
  }
SHEAF_NUMBERS(f32, float)
SHEAF_NUMBERS(bf16, BFloat16)
SHEAF_NUMBERS(f16, Float16)
