// Copies within a device: as it is, and of matrices with rows and columns exchanged, which is what a change between the plain
// format and channels last is: [N][C][positions] and [N][positions][C].
#include "element.cuh"

namespace {

/// [batch][rows][columns] to [batch][columns][rows]. A block moves tiles of 2^row_bits × 2^column_bits elements, 1024 in all,
/// through shared memory, so that neighbouring threads read neighbours and write neighbours. Rows of a tile are one element
/// longer than they need be: a column then lies in different banks.
template <typename Unit>
__device__ void transpose(Unit* target, const Unit* source, unsigned long long batch, unsigned long long rows,
                          unsigned long long columns, unsigned row_bits, unsigned column_bits, const int* guard) {
  if (held_back(guard)) return;
  __shared__ Unit tile[1024 + 512];  // 512 rows of 2 + 1 are the most
  const unsigned tile_rows = 1u << row_bits, tile_columns = 1u << column_bits;
  const unsigned long long first_column = static_cast<unsigned long long>(blockIdx.x) << column_bits;
  for (unsigned long long n = blockIdx.z; n < batch; n += gridDim.z) {
    const unsigned long long base = n * rows * columns;
    for (unsigned long long first_row = static_cast<unsigned long long>(blockIdx.y) << row_bits; first_row < rows;
         first_row += static_cast<unsigned long long>(gridDim.y) << row_bits) {
      for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
        const unsigned r = i >> column_bits, c = i & (tile_columns - 1);
        if (first_row + r < rows && first_column + c < columns)
          tile[r * (tile_columns + 1) + c] = source[base + (first_row + r) * columns + first_column + c];
      }
      __syncthreads();
      for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) {
        const unsigned c = i >> row_bits, r = i & (tile_rows - 1);
        if (first_row + r < rows && first_column + c < columns)
          target[base + (first_column + c) * rows + first_row + r] = tile[r * (tile_columns + 1) + c];
      }
      __syncthreads();
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    copy_bytes(unsigned char* target, const unsigned char* source, unsigned long long bytes, const int* guard) {
  if (held_back(guard)) return;
  const unsigned long long addresses =
      reinterpret_cast<unsigned long long>(target) | reinterpret_cast<unsigned long long>(source);
  const unsigned long long vectors = addresses % 16 == 0 ? bytes / 16 : 0;
  for (unsigned long long i = first_index(); i < vectors; i += grid_size())
    reinterpret_cast<uint4*>(target)[i] = reinterpret_cast<const uint4*>(source)[i];
  for (unsigned long long i = vectors * 16 + first_index(); i < bytes; i += grid_size()) target[i] = source[i];
}

#define SHEAF_TRANSPOSE(name, Unit)                                                                                         \
  extern "C" __global__ void __launch_bounds__(256)                                                                         \
      name(Unit* target, const Unit* source, unsigned long long batch, unsigned long long rows, unsigned long long columns, \
           unsigned row_bits, unsigned column_bits, const int* guard) {                                                     \
    transpose(target, source, batch, rows, columns, row_bits, column_bits, guard);                                          \
  }
SHEAF_TRANSPOSE(transpose_1, unsigned char)
SHEAF_TRANSPOSE(transpose_2, unsigned short)
SHEAF_TRANSPOSE(transpose_4, unsigned)
SHEAF_TRANSPOSE(transpose_8, unsigned long long)

/// *report: whether x is infinite or not a number; then *flag = 1 besides. `report` is host memory.
extern "C" __global__ void check_finite(const float* x, int* flag, int* report) {
  const bool finite = (__float_as_uint(*x) & 0x7f800000u) != 0x7f800000u;
  *report = finite ? 0 : 1;
  if (!finite) *flag = 1;
}

/// Lengths of sequences that are all alike.
extern "C" __global__ void __launch_bounds__(256) fill_i32(int* target, int value, unsigned count) {
  for (unsigned long long i = first_index(); i < count; i += grid_size()) target[i] = value;
}
