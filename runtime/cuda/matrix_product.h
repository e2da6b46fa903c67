// Linear layers and matrix products as one library call each: D = op(A) · op(B), in BLAS's terms.
//
// BLAS is column-major: it sees a row-major matrix [r, c] as a column-major one of c × r. So the operands are in the opposite
// order to the step's, and an operand is transposed if the step uses it transposed.
#pragma once

#include "runtime/steps/step_operands.h"

#include <cstdint>
#include <vector>

namespace sheaf::cuda {

/// A matrix in memory, column-major: element (i, j) is at begin + i + j · leading; matrix b of a batch `stride` further.
struct MatrixLayout {
  int64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int64_t stride = 0;  ///< elements; 0: all of a batch have the same matrix
};

/// D (m × n) = op(A) (m × k) · op(B) (k × n), `batch` times.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  MatrixLayout a, b, d;
  int64_t batch = 1;
};

/// Where the operands of one call of a product begin, in elements from the start of their buffers.
struct ProductOffsets {
  int64_t a = 0, b = 0, d = 0;
};

/// A step's operands in BLAS's terms: A is the weight (of the weight's gradient: x), B is x (dy), D is y (dx, dweight).
MatrixProduct linear_product(int64_t rows, int64_t in, int64_t out);
MatrixProduct linear_data_gradient(int64_t rows, int64_t in, int64_t out);
MatrixProduct linear_weight_gradient(int64_t rows, int64_t in, int64_t out);

/// torch.matmul: one product, called once for each of `calls`. A is the step's b, B is its a.
struct BatchedProduct {
  MatrixProduct product;
  std::vector<ProductOffsets> calls;
};

/// Dims as the step has them, before `transpose_a` and `transpose_b` swap the last two. Throws OperationError if they violate
/// torch.matmul's rules.
BatchedProduct matmul_product(const Dims& a, const Dims& b, const Dims& y, bool transpose_a, bool transpose_b);

}  // namespace sheaf::cuda
