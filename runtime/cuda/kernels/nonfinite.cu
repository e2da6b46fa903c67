// How many elements of many tensors are infinite or NaN, in one launch: those of which all bits of the exponent are set.
//
// The tensors are cut into tiles, which are numbered through and shared out over the blocks. Counts are integers, so the order in which
// blocks add theirs doesn't matter. The last block to come writes the sum.
#include "element.cuh"

/// As many tensors as a launch's parameters have room for; as the host has them (runtime/cuda/own_nonfinite.cpp).
constexpr unsigned kTensors = 192;
struct Addresses {
  const void* of[kTensors];
};
struct Sizes {
  unsigned long long elements[kTensors];  // the two highest bits say of what: f32, bf16, f16
  unsigned first_tile[kTensors];
};

namespace {

using Index = unsigned long long;

constexpr unsigned kThreads = 256, kTogether = 4;  // vectors of 16 bytes that a thread has on their way
constexpr unsigned kTile = kThreads * kTogether;   // vectors
constexpr unsigned kWords = 4096;                  // of OwnKernels::meeting_word()

/// By the number that an operation has for its own: what its launches have counted so far; the blocks of a launch that have come. 0 between
/// two runs.
__device__ unsigned long long counted[kWords];
__device__ unsigned arrived[kWords];

/// `exponent`: the bits of it in a word of one or two elements.
template <bool narrow>
__device__ inline unsigned in_word(unsigned word, unsigned exponent) {
  if (!narrow) return (word & exponent) == exponent;
  const unsigned low = exponent & 0xffffu, high = exponent & 0xffff0000u;
  return ((word & low) == low) + ((word & high) == high);
}
template <bool narrow>
__device__ inline unsigned in_vector(const uint4& v, unsigned exponent) {
  return in_word<narrow>(v.x, exponent) + in_word<narrow>(v.y, exponent) + in_word<narrow>(v.z, exponent) +
         in_word<narrow>(v.w, exponent);
}
template <bool narrow>
__device__ inline unsigned one(const void* x, Index i, unsigned exponent) {
  if (!narrow) return in_word<false>(static_cast<const unsigned*>(x)[i], exponent);
  return in_word<false>(static_cast<const unsigned short*>(x)[i], exponent & 0xffffu);
}

template <bool narrow>
__device__ unsigned in_tile(const void* x, Index elements, unsigned exponent, unsigned tile) {
  constexpr unsigned kLanes = narrow ? 8 : 4;
  const Index begin = static_cast<Index>(tile) * kTile, whole = elements / kLanes;  // in vectors
  unsigned count = 0;
  // A replica's chunk may begin at any element.
  if (reinterpret_cast<Index>(x) % 16 != 0) {
    const Index end = (begin + kTile) * kLanes < elements ? (begin + kTile) * kLanes : elements;
    for (Index i = begin * kLanes + threadIdx.x; i < end; i += kThreads) count += one<narrow>(x, i, exponent);
    return count;
  }
  const uint4* const vectors = static_cast<const uint4*>(x) + begin + threadIdx.x;
  if (begin + kTile <= whole) {
    uint4 v[kTogether];
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k) v[k] = vectors[k * kThreads];
#pragma unroll
    for (unsigned k = 0; k < kTogether; ++k) count += in_vector<narrow>(v[k], exponent);
    return count;
  }
  for (unsigned k = 0; k < kTogether; ++k)
    if (begin + k * kThreads + threadIdx.x < whole) count += in_vector<narrow>(vectors[k * kThreads], exponent);
  // The elements behind the last whole vector are in the last tile.
  if (const Index i = whole * kLanes + threadIdx.x; i < elements) count += one<narrow>(x, i, exponent);
  return count;
}

}  // namespace

/// `y` null: a further launch goes on counting.
extern "C" __global__ void __launch_bounds__(256)
    count_nonfinite(const __grid_constant__ Addresses addresses, const __grid_constant__ Sizes sizes, unsigned tensors,
                    unsigned tiles, unsigned word, float* y) {
  __shared__ unsigned long long found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  Index mine = 0;
  for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    unsigned at = 0, beyond = tensors;  // the last one that doesn't begin after the tile
    while (beyond - at > 1) {
      const unsigned middle = (at + beyond) / 2;
      if (sizes.first_tile[middle] <= tile) at = middle;
      else beyond = middle;
    }
    const Index elements = sizes.elements[at] & (~Index{0} >> 2);
    const unsigned kind = static_cast<unsigned>(sizes.elements[at] >> 62), its = tile - sizes.first_tile[at];
    if (kind == 0) mine += in_tile<false>(addresses.of[at], elements, 0x7f800000u, its);
    else mine += in_tile<true>(addresses.of[at], elements, kind == 1 ? 0x7f807f80u : 0x7c007c00u, its);
  }
  if (mine != 0) atomicAdd(&found, mine);
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (found != 0) atomicAdd(&counted[word], found);
  __threadfence();
  if (atomicInc(&arrived[word], gridDim.x - 1) != gridDim.x - 1 || y == nullptr) return;
  __threadfence();
  *y = static_cast<float>(atomicExch(&counted[word], 0ull));
}
