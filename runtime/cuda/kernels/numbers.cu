// y = the number that each byte of x stands for, by its channel: what a loader would have looked up.
#include "element.cuh"

/// As many channels as a picture has; as the host has them (runtime/cuda/own_numbers.cpp).
constexpr unsigned kChannels = 3;
struct Numbers {
  float of[kChannels * 256];
};

namespace {

constexpr unsigned kTogether = 4;  // words of four bytes that a thread has on their way

/// Element i has channel (i / inner) % channels. `words`: of four elements of one channel each; what follows them goes one by one.
template <typename Index>
__device__ void look_up(float* y, const unsigned char* x, Index elements, Index words, Index inner, unsigned channels,
                        const float* numbers) {
  const Index step = static_cast<Index>(grid_size()), first = static_cast<Index>(first_index());
  for (Index i = first; i < words; i += kTogether * step) {
    unsigned word[kTogether];
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k)
      word[k] = i + k * step < words ? reinterpret_cast<const unsigned*>(x)[i + k * step] : 0;
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k) {
      const Index at = i + k * step;
      if (at >= words) break;
      const float* of = channels == 1 ? numbers : numbers + 256 * static_cast<unsigned>(at / (inner / 4) % channels);
      reinterpret_cast<float4*>(y)[at] =
          make_float4(of[word[k] & 255], of[word[k] >> 8 & 255], of[word[k] >> 16 & 255], of[word[k] >> 24]);
    }
  }
  for (Index i = 4 * words + first; i < elements; i += step)
    y[i] = numbers[(channels == 1 ? 0 : 256 * static_cast<unsigned>(i / inner % channels)) + x[i]];
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    numbers_of_bytes(float* y, const unsigned char* x, unsigned long long elements, unsigned long long inner, unsigned channels,
                     const __grid_constant__ Numbers given) {
  __shared__ float numbers[kChannels * 256];
  for (unsigned i = threadIdx.x; i < channels * 256; i += blockDim.x) numbers[i] = given.of[i];
  __syncthreads();
  const bool aligned = (reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y)) % 16 == 0;
  const unsigned long long words = aligned && (channels == 1 || inner % 4 == 0) ? elements / 4 : 0;
  // A turn goes up to kTogether grids beyond the last index.
  if (counted_in_32_bits(elements + kTogether * grid_size()))
    look_up<unsigned>(y, x, static_cast<unsigned>(elements), static_cast<unsigned>(words), static_cast<unsigned>(inner),
                      channels, numbers);
  else look_up<unsigned long long>(y, x, elements, words, inner, channels, numbers);
}
