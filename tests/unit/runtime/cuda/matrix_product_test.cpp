// Products in BLAS's terms, evaluated as cublasLtMatmul would on the layouts given to it, against the definitions of the steps.
#include "runtime/cuda/matrix_product.h"

#include <gtest/gtest.h>

#include <random>

namespace sheaf::cuda {
namespace {

using Values = std::vector<double>;

Values random_digits(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> digit(-4, 4);  // sums are exact
  Values values;
  for (int64_t i = 0; i < count; ++i) values.push_back(digit(random));
  return values;
}

/// Element (i, j) of matrix b of a batch, which must be within the operand.
double& at(Values& values, const MatrixLayout& layout, int64_t begin, int64_t b, int64_t i, int64_t j) {
  EXPECT_TRUE(i >= 0 && i < layout.rows && j >= 0 && j < layout.columns);
  EXPECT_GE(layout.leading, layout.rows);  // as cuBLASLt wants it
  return values.at(size_t(begin + b * layout.stride + i + j * layout.leading));
}

/// D = op(A) · op(B), column-major.
void multiply(const MatrixProduct& p, const ProductOffsets& call, Values& a, Values& b, Values& d) {
  // op(A) is m × k, op(B) k × n, D m × n: what cuBLASLt checks.
  ASSERT_EQ(p.transpose_a ? p.a.columns : p.a.rows, p.m);
  ASSERT_EQ(p.transpose_a ? p.a.rows : p.a.columns, p.k);
  ASSERT_EQ(p.transpose_b ? p.b.columns : p.b.rows, p.k);
  ASSERT_EQ(p.transpose_b ? p.b.rows : p.b.columns, p.n);
  ASSERT_EQ(p.d.rows, p.m);
  ASSERT_EQ(p.d.columns, p.n);
  for (int64_t batch = 0; batch < p.batch; ++batch) {
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < p.k; ++l)
          sum += (p.transpose_a ? at(a, p.a, call.a, batch, l, i) : at(a, p.a, call.a, batch, i, l)) *
                 (p.transpose_b ? at(b, p.b, call.b, batch, j, l) : at(b, p.b, call.b, batch, l, j));
        at(d, p.d, call.d, batch, i, j) = sum;
      }
    }
  }
}

/// rows × columns sums of `term(row, column, k)` over k < depth, row by row.
template <typename Term>
Values sums(int64_t rows, int64_t columns, int64_t depth, Term&& term) {
  Values all;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += term(row, column, k);
      all.push_back(sum);
    }
  }
  return all;
}

TEST(LinearProduct, IsXTimesTheWeightTransposed) {
  for (const auto& [rows, in, out] : {std::tuple(3, 4, 5), std::tuple(1, 7, 2), std::tuple(6, 1, 3), std::tuple(4, 5, 1)}) {
    Values x = random_digits(rows * in, 1), weight = random_digits(out * in, 2), y(size_t(rows * out), -99);
    multiply(linear_product(rows, in, out), {}, weight, x, y);
    const auto term = [&, in = in](int64_t r, int64_t o, int64_t i) {
      return x[size_t(r * in + i)] * weight[size_t(o * in + i)];
    };
    EXPECT_EQ(y, sums(rows, out, in, term));
  }
}

TEST(LinearProduct, GradientsOfXAndTheWeight) {
  constexpr int64_t kRows = 3, kIn = 4, kOut = 5;
  Values x = random_digits(kRows * kIn, 1), weight = random_digits(kOut * kIn, 2), dy = random_digits(kRows * kOut, 3);
  Values dx(kRows * kIn, -99), dweight(kOut * kIn, -99);
  multiply(linear_data_gradient(kRows, kIn, kOut), {}, weight, dy, dx);
  multiply(linear_weight_gradient(kRows, kIn, kOut), {}, x, dy, dweight);
  EXPECT_EQ(dx, sums(kRows, kIn, kOut,
                     [&](int64_t r, int64_t i, int64_t o) { return dy[size_t(r * kOut + o)] * weight[size_t(o * kIn + i)]; }));
  EXPECT_EQ(dweight, sums(kOut, kIn, kRows,
                          [&](int64_t o, int64_t i, int64_t r) { return dy[size_t(r * kOut + o)] * x[size_t(r * kIn + i)]; }));
}

// An epilogue's bias is one number for each row of D, and its gradient (BGRADB) one for each column of D, summed over k.
TEST(LinearProduct, BiasesLieAlongTheOutputFeatures) {
  EXPECT_EQ(linear_product(3, 4, 5).d.rows, 5);
  EXPECT_EQ(linear_weight_gradient(3, 4, 5).d.columns, 5);
  EXPECT_EQ(linear_weight_gradient(3, 4, 5).k, 3);
}

int64_t count(const Dims& dims) { return product(dims, 0, dims.size()); }

/// torch.matmul by its definition, over indices of the whole result.
Values matmul(const Dims& a_dims, const Dims& b_dims, const Dims& y_dims, bool transpose_a, bool transpose_b, const Values& a,
              const Values& b) {
  Values y;
  const bool vector_a = a_dims.size() == 1, vector_b = b_dims.size() == 1;
  const int64_t k = transpose_a ? a_dims[a_dims.size() - 2] : a_dims.back();
  Dims index(y_dims.size(), 0);
  for (int64_t n = 0; n < count(y_dims); ++n) {
    const size_t matrix = size_t(!vector_a) + size_t(!vector_b);
    const Dims batch(index.begin(), index.end() - ptrdiff_t(matrix));
    const int64_t row = vector_a ? 0 : index[batch.size()], column = vector_b ? 0 : index.back();
    const auto element = [&](const Dims& dims, const Values& values, bool vector, bool transposed, int64_t i, int64_t j) {
      if (vector) return values[size_t(i + j)];  // one of them is 0
      if (transposed) std::swap(i, j);
      int64_t at = 0;
      for (size_t d = 0; d + 2 < dims.size(); ++d) {
        const int64_t own = batch[batch.size() - (dims.size() - 2) + d];
        at = at * dims[d] + (dims[d] == 1 ? 0 : own);
      }
      return values[size_t((at * dims[dims.size() - 2] + i) * dims.back() + j)];
    };
    double sum = 0;
    for (int64_t l = 0; l < k; ++l)
      sum += element(a_dims, a, vector_a, transpose_a, row, l) * element(b_dims, b, vector_b, transpose_b, l, column);
    y.push_back(sum);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < y_dims[d]) break;
      index[d] = 0;
    }
  }
  return y;
}

struct MatmulCase {
  Dims a, b, y;
  bool transpose_a, transpose_b;
  int64_t batch;
  size_t calls;
};

TEST(MatmulProduct, FollowsTorchMatmul) {
  const MatmulCase cases[] = {
      {{3, 4}, {4, 5}, {3, 5}, false, false, 1, 1},
      {{4, 3}, {4, 5}, {3, 5}, true, false, 1, 1},
      {{3, 4}, {5, 4}, {3, 5}, false, true, 1, 1},
      {{4, 3}, {5, 4}, {3, 5}, true, true, 1, 1},
      {{4}, {4}, {}, false, false, 1, 1},
      {{4}, {4, 5}, {5}, false, false, 1, 1},
      {{4}, {5, 4}, {5}, false, true, 1, 1},
      {{3, 4}, {4}, {3}, false, false, 1, 1},
      {{2, 3, 4}, {4, 5}, {2, 3, 5}, false, false, 1, 1},  // one taller product
      {{2, 6, 3, 4}, {4}, {2, 6, 3}, false, false, 1, 1},
      {{2, 4, 3}, {4, 5}, {2, 3, 5}, true, false, 2, 1},  // rows of a transposed a aren't contiguous
      {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}, false, false, 2, 1},
      {{2, 6, 3, 4}, {2, 6, 5, 4}, {2, 6, 3, 5}, false, true, 12, 1},
      {{3, 4}, {2, 4, 5}, {2, 3, 5}, false, false, 2, 1},
      {{4}, {2, 6, 4, 5}, {2, 6, 5}, false, false, 12, 1},
      {{2, 1, 3, 4}, {6, 4, 5}, {2, 6, 3, 5}, false, false, 6, 2},
      {{2, 1, 3, 4}, {1, 6, 4, 5}, {2, 6, 3, 5}, false, false, 6, 2},
      {{2, 6, 3, 4}, {2, 1, 4, 5}, {2, 6, 3, 5}, false, false, 2, 1},  // six taller, twice
      {{2, 6, 4, 3}, {2, 1, 4, 5}, {2, 6, 3, 5}, true, false, 6, 2},
      {{2, 1, 2, 3, 4}, {1, 3, 1, 4, 5}, {2, 3, 2, 3, 5}, false, false, 3, 2},
      {{1, 3, 4}, {1, 4, 5}, {1, 3, 5}, false, false, 1, 1},
      {{2, 1, 1}, {2, 1, 1}, {2, 1, 1}, false, false, 2, 1},
  };
  for (const MatmulCase& c : cases) {
    Values a = random_digits(count(c.a), 1), b = random_digits(count(c.b), 2), y(size_t(count(c.y)), -99);
    const BatchedProduct made = matmul_product(c.a, c.b, c.y, c.transpose_a, c.transpose_b);
    const std::string what = to_string(c.a) + " by " + to_string(c.b);
    EXPECT_EQ(made.product.batch, c.batch) << what;
    EXPECT_EQ(made.calls.size(), c.calls) << what;
    for (const ProductOffsets& call : made.calls) multiply(made.product, call, b, a, y);
    EXPECT_EQ(y, matmul(c.a, c.b, c.y, c.transpose_a, c.transpose_b, a, b)) << what;
  }
}

TEST(MatmulProduct, OverNothing) {
  const BatchedProduct made = matmul_product({2, 3, 0}, {2, 0, 5}, {2, 3, 5}, false, false);
  EXPECT_EQ(made.product.k, 0);
}

TEST(MatmulProduct, RefusesWhatDoesNotFit) {
  const auto message = [](const Dims& a, const Dims& b, const Dims& y, bool transpose_a = false) -> std::string {
    try {
      (void)matmul_product(a, b, y, transpose_a, false);
    } catch (const OperationError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message({3, 4}, {5, 6}, {3, 6}).find("don't fit"), std::string::npos);
  EXPECT_NE(message({2, 3, 4}, {3, 4, 5}, {2, 3, 5}).find("don't broadcast"), std::string::npos);
  EXPECT_NE(message({3, 4}, {4, 5}, {5, 3}).find("expected [3, 5]"), std::string::npos);
  EXPECT_NE(message({}, {4}, {}).find("at least one dimension"), std::string::npos);
  EXPECT_NE(message({4}, {4, 5}, {5}, true).find("can't be transposed"), std::string::npos);
}

}  // namespace
}  // namespace sheaf::cuda
