// Many matrix products over the same few operands, made by a team of threads.
#pragma once

#include "runtime/cpu/ops/residual.h"

namespace sheaf {

/// Element (i, j) of a matrix lies `i * row_stride + j * column_stride` elements from where a product says it begins.
struct MatrixOperand {
  BufferRef buffer;
  int64_t row_stride = 1, column_stride = 1;
};

/// c = a · b, or c += a · b: `rows` × `depth` times `depth` × columns. Where a, b and c begin: elements from the
/// operands' buffers.
struct Product {
  int64_t rows = 0, depth = 0;
  int64_t a = 0, b = 0, c = 0;
  bool first = false;  ///< overwrites c, and adds the bias; or, with a residual, adds to what lies in c
  bool last = false;   ///< applies the activation
  int64_t part = 0;    ///< of c: products of different parts touch different elements
};

/// Elements of c that no product makes: zero.
struct ZeroRange {
  int64_t begin = 0, count = 0;
};

/// sums[j] = Σ b(i, j) over `rows` rows of the operand b: what a bias's gradient is of dy.
struct ColumnSums {
  BufferRef sums;
  int64_t rows = 0;  ///< 0: not wanted
};

struct ProductList {
  MatrixOperand a, b, c;
  int64_t columns = 0;  ///< of b and c
  int64_t parts = 1;    ///< into which the products fall
  std::vector<Product> products;  ///< made in this order
  std::vector<ZeroRange> zeros;
  ColumnSums column_sums;
};

/// Makes the executable of a step that is these products, each member of the team having its share of the columns or,
/// where columns are few, of the parts: nobody waits for anybody but at the end, and a sum's order doesn't depend on
/// the team. The step's bias, residual
/// (brought to the format of output 0, `target`) and activation are seen to. Completes `prepared`, but for the
/// formats of the products' own operands and the reason; `name` begins the implementation's.
void prepare_products(const Operation& operation, const ProductList& list, const DnnlDesc& target, const char* name,
                      Prepared& prepared);

}  // namespace sheaf
