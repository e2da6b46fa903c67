#include "runtime/cuda/matrix_product.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

/// A row-major matrix [rows, columns], as BLAS sees it.
MatrixLayout row_major(int64_t rows, int64_t columns) { return {columns, rows, std::max<int64_t>(columns, 1), 0}; }

/// One batch dimension of a product: its size, and how far apart its matrices are (0: an operand has one for all).
struct BatchDim {
  int64_t size, a, b, d;
};

/// Elements between neighbours along each of the leading dims of [dims…, matrix]; 0 where the size is 1.
Dims batch_strides(const Dims& dims, int64_t matrix) {
  Dims strides(dims.size(), 0);
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i] != 1) strides[i] = matrix;
    matrix *= dims[i];
  }
  return strides;
}

/// Merges neighbouring dims along which every operand's matrices are evenly spaced.
std::vector<BatchDim> merged(const std::vector<BatchDim>& dims) {
  std::vector<BatchDim> result;
  for (const BatchDim& dim : dims) {
    if (dim.size == 1) continue;
    if (!result.empty() && result.back().a == dim.a * dim.size && result.back().b == dim.b * dim.size &&
        result.back().d == dim.d * dim.size) {
      result.back() = {result.back().size * dim.size, dim.a, dim.b, dim.d};
    } else {
      result.push_back(dim);
    }
  }
  return result;
}

}  // namespace

// y [rows, out] = x [rows, in] · weightᵀ [in, out].
MatrixProduct linear_product(int64_t rows, int64_t in, int64_t out) {
  return {out, rows, in, true, false, row_major(out, in), row_major(rows, in), row_major(rows, out), 1};
}

// dx [rows, in] = dy [rows, out] · weight [out, in].
MatrixProduct linear_data_gradient(int64_t rows, int64_t in, int64_t out) {
  return {in, rows, out, false, false, row_major(out, in), row_major(rows, out), row_major(rows, in), 1};
}

// dweight [out, in] = dyᵀ [out, rows] · x [rows, in].
MatrixProduct linear_weight_gradient(int64_t rows, int64_t in, int64_t out) {
  return {in, out, rows, false, true, row_major(rows, in), row_major(rows, out), row_major(out, in), 1};
}

BatchedProduct matmul_product(const Dims& a_dims, const Dims& b_dims, const Dims& y_dims, bool transpose_a, bool transpose_b) {
  const std::string shapes = to_string(a_dims) + " and " + to_string(b_dims);
  require(!a_dims.empty() && !b_dims.empty(), "matmul needs at least one dimension, not " + shapes);
  require((!transpose_a || a_dims.size() > 1) && (!transpose_b || b_dims.size() > 1),
          "a vector can't be transposed, in shapes " + shapes);
  Dims a = a_dims, b = b_dims;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const int64_t a_rows = a[a.size() - 2], a_columns = a.back(), b_rows = b[b.size() - 2], b_columns = b.back();
  int64_t m = transpose_a ? a_columns : a_rows;
  const int64_t k = transpose_a ? a_rows : a_columns, n = transpose_b ? b_rows : b_columns;
  require((transpose_b ? b_columns : b_rows) == k, "a and b of shapes " + shapes + " don't fit");
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  Dims batch(rank);
  for (size_t i = 0; i < rank; ++i) {
    require(a[i] == b[i] || a[i] == 1 || b[i] == 1, "the batch dimensions of " + shapes + " don't broadcast");
    batch[i] = a[i] == 1 ? b[i] : a[i];
  }
  Dims expected = batch;
  if (a_dims.size() > 1) expected.push_back(m);
  if (b_dims.size() > 1) expected.push_back(n);
  require(y_dims == expected, "output has shape " + to_string(y_dims) + ", expected " + to_string(expected));

  const Dims a_strides = batch_strides(a, a_rows * a_columns), b_strides = batch_strides(b, b_rows * b_columns),
             d_strides = batch_strides(batch, m * n);
  std::vector<BatchDim> dims;
  for (size_t i = 0; i < rank; ++i) dims.push_back({batch[i], a_strides[i], b_strides[i], d_strides[i]});
  dims = merged(dims);
  // One b for all, below which the rows of a follow each other: one taller product.
  if (!dims.empty() && dims.back().b == 0 && dims.back().a == m * k && !transpose_a) {
    m *= dims.back().size;
    dims.pop_back();
  }
  BatchDim inner{1, 0, 0, 0};
  if (!dims.empty()) {
    inner = dims.back();
    dims.pop_back();
  }
  BatchedProduct result;
  MatrixProduct& p = result.product;
  p = {n,
       m,
       k,
       transpose_b,
       transpose_a,
       transpose_b ? row_major(n, k) : row_major(k, n),
       transpose_a ? row_major(k, m) : row_major(m, k),
       row_major(m, n),
       inner.size};
  p.a.stride = inner.b;
  p.b.stride = inner.a;
  p.d.stride = inner.d;
  result.calls = {{}};
  for (const BatchDim& dim : dims) {  // what isn't even is called for one by one
    std::vector<ProductOffsets> calls;
    for (const ProductOffsets& call : result.calls)
      for (int64_t i = 0; i < dim.size; ++i) calls.push_back({call.a + i * dim.b, call.b + i * dim.a, call.d + i * dim.d});
    result.calls = std::move(calls);
  }
  return result;
}

}  // namespace sheaf::cuda
