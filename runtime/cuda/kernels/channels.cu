// Sums over all of a tensor but its channels, in an order that depends on the sizes alone, and batch norm by them where neither norm.cu nor
// planes.cu does it: with a number of channels, or in the plain format of positions, that fills no vectors.
#include "element.cuh"

namespace {

using Index = unsigned long long;

/// x [images, channels, positions]: plain, or with channels last.
struct Shape {
  Index images, channels, positions;
  int last;

  /// Of value j of channel c; a channel's values are numbered image by image.
  __device__ Index at(Index c, Index j) const {
    return last ? j * channels + c : (j / positions * channels + c) * positions + j % positions;
  }
  __device__ Index channel(Index i) const { return last ? i % channels : i / positions % channels; }
  __device__ Index values() const { return images * positions; }
};

__device__ inline bool is_set(const unsigned* mask, Index i) { return mask[i >> 5] >> (i & 31) & 1; }

enum Mode { kSum, kSquares, kGradient };

/// What one value adds to its channel's sums. kSum: x. kSquares: (x - mean)². kGradient: the gradient g, dy where the mask is
/// set, and g · (x - mean) / sqrt(var + eps).
template <typename Element>
__device__ float2 addend(int mode, const Element* x, const Element* dy, const unsigned* mask, Index i, float mean,
                         float scale) {
  if (mode == kSum) return {widened(x[i]), 0};
  const float centred = widened(x[i]) - mean;
  if (mode == kSquares) return {centred * centred, 0};
  const float g = !mask || is_set(mask, i) ? widened(dy[i]) : 0;
  return {g, g * centred * scale};
}

/// Block (tile, part) adds what values part · stretch, … add to each channel of the tile: sums[part][channel]. A tile is 32
/// channels where they are last (8 threads a channel), else one (256 threads). Each thread adds every 8th (256th) value; the
/// threads' sums are added in order.
template <typename Element>
__device__ void sum_channels(float2* sums, const Element* x, const Element* dy, const unsigned* mask, const float* mean,
                             const float* var, float eps, int mode, Shape shape, Index stretch) {
  __shared__ float2 partial[256];
  const unsigned thread = threadIdx.x;
  const unsigned width = shape.last ? 32 : 1, height = 256 / width;
  const Index c = static_cast<Index>(blockIdx.x) * width + thread % width;
  const Index begin = blockIdx.y * stretch, whole = shape.values(), end = begin + stretch < whole ? begin + stretch : whole;
  float2 sum = {0, 0};
  if (c < shape.channels) {
    const float centre = mode == kSum ? 0 : mean[c], scale = mode == kGradient ? 1 / sqrtf(var[c] + eps) : 0;
    for (Index j = begin + thread / width; j < end; j += height) {
      const float2 more = addend(mode, x, dy, mask, shape.at(c, j), centre, scale);
      sum.x += more.x;
      sum.y += more.y;
    }
  }
  partial[thread] = sum;
  // Neighbours in twos, then in fours: the same tree always.
  for (unsigned step = 1; step < height; step *= 2) {
    __syncthreads();
    const unsigned row = thread / width;
    if (row % (2 * step) == 0) {
      const float2 other = partial[thread + step * width];
      partial[thread].x += other.x;
      partial[thread].y += other.y;
    }
  }
  if (thread < width && c < shape.channels) sums[blockIdx.y * shape.channels + c] = partial[thread];
}

/// The sums of x alone, channels last, as many channels as fill vectors of 16 bytes, at which x begins: a thread adds a vector of every
/// `height`-th value of its stretch, four on their way at once, in their order; then the threads' sums are added, the same tree always.
/// Block (tile, part): `width` vectors of channels, a power of two.
template <typename Element>
__device__ void sum_vectors(float2* sums, const Element* x, Index values, Index channels, unsigned width, Index stretch) {
  constexpr int kLanes = Lanes<Element>::kCount;
  __shared__ float partial[kLanes][256];
  const unsigned thread = threadIdx.x, row = thread / width, height = 256 / width;
  const Index vectors = channels / kLanes, column = static_cast<Index>(blockIdx.x) * width + thread % width;
  const Index begin = blockIdx.y * stretch, end = begin + stretch < values ? begin + stretch : values;
  float sum[kLanes] = {};
  if (column < vectors) {
    const uint4* from = reinterpret_cast<const uint4*>(x) + begin * vectors + column;
    const unsigned count = end > begin ? static_cast<unsigned>(end - begin) : 0;
    const Index apart = vectors * height;
    from += vectors * row;
    unsigned j = row;
    for (; j + 3 * height < count; j += 4 * height, from += 4 * apart) {
      Lanes<Element> four[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) four[k].vector = from[k * apart];
#pragma unroll
      for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) sum[lane] += widened(four[k].element[lane]);
      }
    }
    for (; j < count; j += height, from += apart) {
      Lanes<Element> one;
      one.vector = *from;
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) sum[lane] += widened(one.element[lane]);
    }
  }
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) partial[lane][thread] = sum[lane];
  for (unsigned step = 1; step < height; step *= 2) {
    __syncthreads();
    if (row % (2 * step) == 0) {
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) partial[lane][thread] += partial[lane][thread + step * width];
    }
  }
  if (row != 0 || column >= vectors) return;
#pragma unroll
  for (int lane = 0; lane < kLanes; ++lane) sums[blockIdx.y * channels + column * kLanes + lane] = {partial[lane][thread], 0};
}

template <typename Element>
__device__ void normalize(Element* y, unsigned* mask, const Element* x, const Element* residual, const float* mean,
                          const float* var, const float* weight, const float* bias, float eps, int relu, Shape shape) {
  const Index elements = shape.values() * shape.channels;
  for (Index i = first_index(); (i & ~Index{31}) < elements; i += grid_size()) {
    bool passes = false;
    if (i < elements) {
      const Index c = shape.channel(i);
      float value = (widened(x[i]) - mean[c]) / sqrtf(var[c] + eps);
      if (weight) value = value * weight[c] + bias[c];
      if (residual) value += widened(residual[i]);
      passes = value > 0 || value != value;
      y[i] = rounded<Element>(!relu || passes ? value : 0);
    }
    const unsigned bits = __ballot_sync(0xffffffffu, passes);
    if (mask && (i & 31) == 0) mask[i >> 5] = bits;
  }
}

/// dx = weight / sqrt(var + eps) · (g - Σg / M - x̂ · Σ(g · x̂) / M); dx may be dy. `gradient`, which may be null: g.
template <typename Element>
__device__ void normalize_backward(Element* dx, Element* gradient, const Element* x, const Element* dy, const unsigned* mask,
                                   const float* mean, const float* var, const float* weight, const float* sum_g,
                                   const float* sum_gx, float eps, Shape shape) {
  const Index elements = shape.values() * shape.channels;
  const float share = 1.0f / static_cast<float>(shape.values());
  for (Index i = first_index(); i < elements; i += grid_size()) {
    const Index c = shape.channel(i);
    const float scale = 1 / sqrtf(var[c] + eps), normal = (widened(x[i]) - mean[c]) * scale;
    const float g = !mask || is_set(mask, i) ? widened(dy[i]) : 0;
    if (gradient) gradient[i] = rounded<Element>(g);
    const float centred = g - sum_g[c] * share - normal * (sum_gx[c] * share);
    dx[i] = rounded<Element>((weight ? weight[c] * scale : scale) * centred);
  }
}

}  // namespace

#define SHEAF_CHANNELS(suffix, Element)                                                                                      \
  extern "C" __global__ void __launch_bounds__(256)                                                                          \
      sum_vectors_##suffix(float2* sums, const Element* x, Index values, Index channels, unsigned width, Index stretch) {    \
    sum_vectors(sums, x, values, channels, width, stretch);                                                                  \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(256)                                                                          \
      sum_channels_##suffix(float2* sums, const Element* x, const Element* dy, const unsigned* mask, const float* mean,      \
                            const float* var, float eps, int mode, const Shape shape, Index stretch) {                       \
    sum_channels(sums, x, dy, mask, mean, var, eps, mode, shape, stretch);                                                   \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(256)                                                                          \
      normalize_##suffix(Element* y, unsigned* mask, const Element* x, const Element* residual, const float* mean,           \
                         const float* var, const float* weight, const float* bias, float eps, int relu, const Shape shape) { \
    normalize(y, mask, x, residual, mean, var, weight, bias, eps, relu, shape);                                              \
  }                                                                                                                          \
  extern "C" __global__ void __launch_bounds__(256) normalize_backward_##suffix(                                             \
      Element* dx, Element* gradient, const Element* x, const Element* dy, const unsigned* mask, const float* mean,          \
      const float* var, const float* weight, const float* sum_g, const float* sum_gx, float eps, const Shape shape) {        \
    normalize_backward(dx, gradient, x, dy, mask, mean, var, weight, sum_g, sum_gx, eps, shape);                             \
  }
SHEAF_CHANNELS(f32, float)
SHEAF_CHANNELS(bf16, BFloat16)
SHEAF_CHANNELS(f16, Float16)

/// first[c] = scale · Σ sums[part][c].x, in order; second, where there is one, of .y.
extern "C" __global__ void __launch_bounds__(256)
    finish_channels(float* first, float* second, const float2* sums, Index parts, Index channels, float scale) {
  const Index c = first_index();
  if (c >= channels) return;
  float2 sum = {0, 0};
#pragma unroll 8
  for (Index part = 0; part < parts; ++part) {
    sum.x += sums[part * channels + c].x;
    sum.y += sums[part * channels + c].y;
  }
  first[c] = sum.x * scale;
  if (second) second[c] = sum.y * scale;
}
/// to = from + sign · bias, of as many as there are channels.
extern "C" __global__ void __launch_bounds__(256)
    shift_channels(float* to, const float* from, const float* bias, Index channels, float sign) {
  const Index c = first_index();
  if (c < channels) to[c] = from[c] + sign * bias[c];
}
