// What batch norm and its gradient share, channels last, where channels fill vectors of eight: sums by channel in one pass over
// memory, what is made of them in a second. Every access to x and what has its shape is of 16 bytes a thread. Where all blocks are
// there at once, one launch does both; few rows a thread stay in its registers between them.
//
// A block has a tile of up to 8 vectors of channels, and a stretch of the rows (values of a channel). Its threads stand side by
// side along channels, then along rows; each has one vector of every `height`-th row. Sums are in f32: of a thread's rows in
// order, then of a block's threads by a tree, then of the parts in order; all of it by the sizes alone.
#pragma once

#include "element.cuh"

namespace {

using Index = unsigned long long;

constexpr unsigned kThreads = 512, kLanes = 8, kMostChannels = 64;  // a tile's

/// How a tensor of [rows][vectors] vectors is shared out; blocks are (tile, part).
struct Sharing {
  Index rows, stretch;      // of the tensor; of a part
  unsigned vectors, parts;  // parts: those whose sums there are
  unsigned width_bits;      // a tile has 1 << width_bits vectors
  float eps;
};

template <typename Element>
union Vector {
  uint4 words[kLanes * sizeof(Element) / 16];
  Element elements[kLanes];

  __device__ void load(const Element* from, Index vector) {
    const uint4* at = reinterpret_cast<const uint4*>(from) + vector * (kLanes * sizeof(Element) / 16);
#pragma unroll
    for (unsigned k = 0; k < kLanes * sizeof(Element) / 16; ++k) words[k] = at[k];
  }
  __device__ void store(Element* to, Index vector) const {
    uint4* at = reinterpret_cast<uint4*>(to) + vector * (kLanes * sizeof(Element) / 16);
#pragma unroll
    for (unsigned k = 0; k < kLanes * sizeof(Element) / 16; ++k) at[k] = words[k];
  }
};

/// Where a thread works.
struct Spot {
  unsigned column, row,
      height;      // its vector of channels, in the tensor; its first row of the stretch; rows from one to the next
  unsigned count;  // rows of the stretch
  Index first;     // the vector in its first row

  __device__ explicit Spot(const Sharing& sharing) {
    const unsigned width = 1u << sharing.width_bits;
    column = blockIdx.x * width + (threadIdx.x & (width - 1));
    row = threadIdx.x >> sharing.width_bits;
    height = kThreads >> sharing.width_bits;
    const Index begin = blockIdx.y * sharing.stretch, left = begin < sharing.rows ? sharing.rows - begin : 0;
    count = static_cast<unsigned>(left < sharing.stretch ? left : sharing.stretch);
    first = (begin + row) * sharing.vectors + column;
  }
};

template <int count>
struct Together {
  static constexpr int kCount = count;
};

/// work(Together<n>, at, apart): the thread's vectors at, at + apart, … of n rows; as many together as there are.
template <int most, typename Work>
__device__ void over_rows(const Spot& spot, const Sharing& sharing, Work work) {
  const Index apart = static_cast<Index>(spot.height) * sharing.vectors;
  Index at = spot.first;
  unsigned row = spot.row;
  for (; row + (most - 1) * spot.height < spot.count; row += most * spot.height, at += most * apart)
    work(Together<most>{}, at, apart);
  for (; row < spot.count; row += spot.height, at += apart) work(Together<1>{}, at, apart);
}

/// The block's sums of each channel of its tile: sums[part][channel].
__device__ void add_threads(float2* sums, const float2 (&own)[kLanes], const Sharing& sharing, const Spot& spot) {
  __shared__ float2 partial[kLanes][kThreads];
  const unsigned thread = threadIdx.x, width = 1u << sharing.width_bits;
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) partial[lane][thread] = own[lane];
  for (unsigned step = 1; step < spot.height; step *= 2) {
    __syncthreads();
    if (spot.row % (2 * step) == 0) {
#pragma unroll
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const float2 other = partial[lane][thread + step * width];
        partial[lane][thread].x += other.x;
        partial[lane][thread].y += other.y;
      }
    }
  }
  if (spot.row != 0 || spot.column >= sharing.vectors) return;
  const Index first = (static_cast<Index>(blockIdx.y) * sharing.vectors + spot.column) * kLanes;
#pragma unroll
  for (unsigned lane = 0; lane < kLanes; ++lane) sums[first + lane] = partial[lane][thread];
}

/// Words at which the blocks of a launch meet, by the number that its operation has: 0 at first, then as the last meeting left it.
constexpr unsigned kMeetingWords = 4096;
__device__ unsigned meeting_words[kMeetingWords];

/// All threads of all blocks, which must be there at once, come here; what they wrote before is there for all of them then.
__device__ void meet(unsigned word) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* const at = meeting_words + word;
    // Together the blocks add 2³¹: the highest bit changes when the last one comes, and the others are what they were.
    const unsigned others = gridDim.x * gridDim.y - 1;
    const bool first = blockIdx.x == 0 && blockIdx.y == 0;
    __threadfence();
    const unsigned before = atomicAdd(at, first ? 0x80000000u - others : 1u);
    while ((before ^ *static_cast<volatile unsigned*>(at)) >> 31 == 0) __nanosleep(40);
    __threadfence();
  }
  __syncthreads();
}

/// Nothing that was read before is taken to be known still: what few registers would have to hold is read again where it is wanted.
__device__ inline void forget() { asm volatile("" ::: "memory"); }

/// Whether the thread has a k-th row.
__device__ inline bool has_row(const Spot& spot, unsigned k) { return spot.row + k * spot.height < spot.count; }

/// The sums of all parts, of each channel of the tile.
__device__ void add_parts(float2 (&total)[kThreads], const float2* sums, const Sharing& sharing) {
  const unsigned width = kLanes << sharing.width_bits, slices = kThreads / width;  // in channels
  const unsigned channels = sharing.vectors * kLanes, slice = threadIdx.x / width;
  const unsigned channel = blockIdx.x * width + threadIdx.x % width;
  float2 sum = {0, 0};
  if (channel < channels) {
#pragma unroll 4
    for (unsigned part = slice; part < sharing.parts; part += slices) {
      const float2 more = sums[static_cast<Index>(part) * channels + channel];
      sum.x += more.x;
      sum.y += more.y;
    }
  }
  total[threadIdx.x] = sum;
  for (unsigned step = 1; step < slices; step *= 2) {
    __syncthreads();
    if (slice % (2 * step) == 0) {
      const float2 other = total[threadIdx.x + step * width];
      total[threadIdx.x].x += other.x;
      total[threadIdx.x].y += other.y;
    }
  }
}

}  // namespace
