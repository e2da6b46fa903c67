// Sums in a fixed order: of replicas, from left to right; of a matrix's columns.
#include "element.cuh"

/// As many addends as one launch takes; of more, a sum of the first is added to in further launches.
struct Addends {
  const void* x[16];
};

namespace {

/// y[i] = ((x0[i] + x1[i]) + x2[i]) + …, rounded to the element after each addition, as the CPU's `reduce` does it. y may be
/// x0.
template <typename Element>
__device__ void sum_in_order(Element* y, const Addends& addends, int count, unsigned long long elements, const int* guard) {
  if (held_back(guard)) return;
  constexpr int width = 16 / sizeof(Element);
  union Lanes {
    uint4 vector;
    Element element[width];
  };
  unsigned long long addresses = reinterpret_cast<unsigned long long>(y);
  for (int k = 0; k < count; ++k) addresses |= reinterpret_cast<unsigned long long>(addends.x[k]);
  // A replica's chunk may begin at any element.
  const unsigned long long vectors = addresses % 16 == 0 ? elements / width : 0;
  for (unsigned long long i = first_index(); i < vectors; i += grid_size()) {
    Lanes sum;
    sum.vector = static_cast<const uint4*>(addends.x[0])[i];
    for (int k = 1; k < count; ++k) {
      Lanes x;
      x.vector = static_cast<const uint4*>(addends.x[k])[i];
#pragma unroll
      for (int j = 0; j < width; ++j) sum.element[j] = rounded<Element>(widened(sum.element[j]) + widened(x.element[j]));
    }
    reinterpret_cast<uint4*>(y)[i] = sum.vector;
  }
  for (unsigned long long i = vectors * width + first_index(); i < elements; i += grid_size()) {
    Element sum = static_cast<const Element*>(addends.x[0])[i];
    for (int k = 1; k < count; ++k)
      sum = rounded<Element>(widened(sum) + widened(static_cast<const Element*>(addends.x[k])[i]));
    y[i] = sum;
  }
}

/// Block (tile, part) sums 32 columns of a stretch of `stretch` rows: sums[part][column]. Thread (row r, column c) adds rows r,
/// r + 8, …; the eight sums are then added in order.
template <typename Element>
__device__ void sum_columns(float* sums, const Element* x, unsigned long long rows, unsigned long long columns,
                            unsigned long long stretch) {
  __shared__ float partial[8][32];
  const unsigned c = threadIdx.x & 31, r = threadIdx.x >> 5;
  const unsigned long long column = static_cast<unsigned long long>(blockIdx.x) * 32 + c, begin = blockIdx.y * stretch;
  const unsigned long long end = begin + stretch < rows ? begin + stretch : rows;
  float sum = 0;
  if (column < columns)
    for (unsigned long long row = begin + r; row < end; row += 8) sum += widened(x[row * columns + column]);
  partial[r][c] = sum;
  __syncthreads();
  if (r != 0 || column >= columns) return;
  for (int k = 1; k < 8; ++k) sum += partial[k][c];
  sums[blockIdx.y * columns + column] = sum;
}

}  // namespace

#define SHEAF_SUMS(suffix, Element)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) sum_in_order_##suffix(                                              \
      Element* y, const __grid_constant__ Addends addends, int count, unsigned long long elements, const int* guard) {  \
    sum_in_order(y, addends, count, elements, guard);                                                                   \
  }                                                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) sum_columns_##suffix(                                               \
      float* sums, const Element* x, unsigned long long rows, unsigned long long columns, unsigned long long stretch) { \
    sum_columns(sums, x, rows, columns, stretch);                                                                       \
  }
SHEAF_SUMS(f32, float)
SHEAF_SUMS(bf16, BFloat16)
SHEAF_SUMS(f16, Float16)
