// Sums over the rows of a matrix, such as a bias's gradient from dy.
#pragma once

#include "runtime/cpu/dnnl/dnnl_call.h"

namespace sheaf {

/// sums[j] = Σ matrix[i · row_stride + j] over `rows` rows, for `columns` columns, in f32; the matrix is f32 or bf16. In
/// blocks of rows, whose sums are then added: rounding grows with the sum of both counts, not with their product.
void sum_columns(const void* matrix, dnnl::memory::data_type type, int64_t rows, int64_t columns, int64_t row_stride,
                 float* sums);

/// A bias's gradient as a stage of a step: the sums of a dense matrix's columns.
struct ColumnSums {
  BufferRef matrix, sums;
  dnnl::memory::data_type type;
  int64_t rows, columns;

  void run(void* const* buffers, void* scratch) const {
    sum_columns(matrix.resolve(buffers, scratch), type, rows, columns, columns,
                reinterpret_cast<float*>(sums.resolve(buffers, scratch)));
  }
};

}  // namespace sheaf
