// Copies within a device: runs of bytes that lie apart, and matrices with rows and columns exchanged, which is what a change
// between the plain format and channels last is: [N][C][positions] and [N][positions][C].
#include "element.cuh"

namespace {

/// `rows` runs of `units` units each; pitches in units. 2^`lane_bits` neighbouring threads share a run.
template <typename Unit>
__device__ void copy_rows(Unit* target, const Unit* source, unsigned long long units, unsigned long long rows,
                          unsigned long long source_pitch, unsigned long long target_pitch, unsigned lane_bits,
                          const int* guard) {
  if (held_back(guard)) return;
  const unsigned lanes = 1u << lane_bits, lane = threadIdx.x & (lanes - 1);
  const unsigned long long rows_at_once = blockDim.x >> lane_bits;
  for (unsigned long long row = blockIdx.y * rows_at_once + (threadIdx.x >> lane_bits); row < rows;
       row += gridDim.y * rows_at_once) {
    for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * lanes + lane; i < units;
         i += static_cast<unsigned long long>(gridDim.x) * lanes) {
      target[row * target_pitch + i] = source[row * source_pitch + i];
    }
  }
}

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

#define SHEAF_COPY_ROWS(name, Unit)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) name(Unit* target, const Unit* source, unsigned long long units,    \
                                                         unsigned long long rows, unsigned long long source_pitch,      \
                                                         unsigned long long target_pitch, unsigned lane_bits,           \
                                                         const int* guard) {                                            \
    copy_rows(target, source, units, rows, source_pitch, target_pitch, lane_bits, guard);                               \
  }
SHEAF_COPY_ROWS(copy_rows_1, unsigned char)
SHEAF_COPY_ROWS(copy_rows_4, unsigned)
SHEAF_COPY_ROWS(copy_rows_16, uint4)

#define SHEAF_TRANSPOSE(name, Unit)                                                                                     \
  extern "C" __global__ void __launch_bounds__(256) name(Unit* target, const Unit* source, unsigned long long batch,    \
                                                         unsigned long long rows, unsigned long long columns,           \
                                                         unsigned row_bits, unsigned column_bits, const int* guard) {   \
    transpose(target, source, batch, rows, columns, row_bits, column_bits, guard);                                      \
  }
SHEAF_TRANSPOSE(transpose_1, unsigned char)
SHEAF_TRANSPOSE(transpose_2, unsigned short)
SHEAF_TRANSPOSE(transpose_4, unsigned)
SHEAF_TRANSPOSE(transpose_8, unsigned long long)

/// *flag = code where an operation before it hasn't failed already, and `status` says that this one has.
extern "C" __global__ void flag_status(const long long* status, int* flag, int code) {
  if (*flag == 0 && *status != 0) *flag = code;
}

/// The same where x is infinite or not a number.
extern "C" __global__ void check_finite(const float* x, int* flag, int code) {
  if (*flag == 0 && (__float_as_uint(*x) & 0x7f800000u) == 0x7f800000u) *flag = code;
}

/// Lengths of sequences that are all alike.
extern "C" __global__ void __launch_bounds__(256) fill_i32(int* target, int value, unsigned count) {
  for (unsigned long long i = first_index(); i < count; i += grid_size()) target[i] = value;
}
