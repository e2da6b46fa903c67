// Matrix product with torch.matmul's rules: vectors count as a row or a column, batch dimensions broadcast.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/ops/choice.h"

namespace sheaf {
namespace {

/// The product as oneDNN sees it: equal ranks, batch dims equal or 1. A transposed operand has its dims
/// swapped, and its strides with them.
struct MatrixProduct {
  DnnlDesc a, b, y;
  int64_t depth = 0;
};

/// A plain matrix, or several; `dims` are those after the swap.
DnnlDesc matrices(DnnlDims dims, bool transposed, dnnl::memory::data_type type) {
  const size_t rank = dims.size();
  if (!transposed) return plain_desc(dims, type);
  DnnlDims strides(rank);
  int64_t stride = dims[rank - 1] * dims[rank - 2];
  strides[rank - 1] = dims[rank - 2];
  strides[rank - 2] = 1;
  for (size_t d = rank - 2; d-- > 0;) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return DnnlDesc(dims, type, strides);
}

MatrixProduct product_of(const std::vector<int64_t>& a_dims, const std::vector<int64_t>& b_dims,
                         const std::vector<int64_t>& y_dims, bool transpose_a, bool transpose_b, dnnl::memory::data_type type) {
  const std::string shapes = to_string(a_dims) + " and " + to_string(b_dims);
  require(!a_dims.empty() && !b_dims.empty(), "matmul needs at least one dimension, not " + shapes);
  require((!transpose_a || a_dims.size() > 1) && (!transpose_b || b_dims.size() > 1),
          "a vector can't be transposed, in shapes " + shapes);
  DnnlDims a = a_dims, b = b_dims;
  if (transpose_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (transpose_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const int64_t m = a[a.size() - 2], k = a.back(), n = b.back();
  require(b[b.size() - 2] == k, "a and b of shapes " + shapes + " don't fit");
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  const size_t rank = std::max(a.size(), b.size());
  require(rank + 2 <= DNNL_MAX_NDIMS, "matmul takes at most 12 dimensions, not " + shapes);
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  DnnlDims batch(rank);
  for (size_t i = 0; i < rank; ++i) {
    require(a[i] == b[i] || a[i] == 1 || b[i] == 1, "the batch dimensions of " + shapes + " don't broadcast");
    batch[i] = a[i] == 1 ? b[i] : a[i];
  }
  std::vector<int64_t> expected = batch;
  if (a_dims.size() > 1) expected.push_back(m);
  if (b_dims.size() > 1) expected.push_back(n);
  require(y_dims == expected, "output has shape " + to_string(y_dims) + ", expected " + to_string(expected));

  const auto describe = [&](const DnnlDims& a_shape, const DnnlDims& b_shape, const DnnlDims& y_shape) {
    return MatrixProduct{matrices(a_shape, transpose_a, type), matrices(b_shape, transpose_b, type), plain_desc(y_shape, type),
                         k};
  };
  const int64_t count = product(batch, 0, rank), b_count = product(b, 0, rank), a_count = product(a, 0, rank);
  if (b_count == 1 && (!transpose_a || count == 1))  // one matrix for all: a taller product
    return describe({count * m, k}, {k, n}, {count * m, n});
  if (a_count == 1 || b_count == 1 || a == b) return describe({a_count, m, k}, {b_count, k, n}, {count, m, n});
  auto with = [](DnnlDims dims, int64_t rows, int64_t columns) {
    dims.push_back(rows);
    dims.push_back(columns);
    return dims;
  };
  return describe(with(a, m, k), with(b, k, n), with(batch, m, n));
}

/// A product over nothing (k = 0).
class Zeros final : public Executable {
 public:
  Zeros(int buffer, size_t bytes) : buffer_(buffer), bytes_(bytes) {}
  void run(void* const* buffers, void*) override { std::memset(buffers[buffer_], 0, bytes_); }

 private:
  int buffer_;
  size_t bytes_;
};

}  // namespace

Prepared prepare_matmul(const Operation& operation) {
  const TensorSpec &a = operation.operand("a"), &b = operation.operand("b"), &y = operation.output();
  const MatrixProduct shape = product_of(a.dims, b.dims, y.dims, operation.flag("transpose_a", false),
                                         operation.flag("transpose_b", false), operation.data_type());
  Prepared prepared = operation.prepared();
  if (shape.depth == 0) {
    prepared.executable = std::make_unique<Zeros>(operation.output_buffer().buffer, prepared.outputs[0].bytes);
    take_loop(prepared, "a product over nothing is zeros");
    return prepared;
  }
  const DnnlDesc b_wanted = operation.constant("b") ? any_desc(shape.b.dims(), operation.data_type()) : shape.b;
  const dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(shape.a, b_wanted, shape.y), step_attributes(), dnnl_engine());
  prepared.inputs[operation.find("b")] = dnnl_tensor(b.dims, pd.weights_desc(), shape.b, "kn");
  take_library(operation, pd, prepared,
               operation.constant("b") ? "b stands still, so oneDNN chooses its format and it is reordered once"
                                       : "both operands stay plain: a reorder would be made at each step");
  ScratchPlan scratch;
  DnnlCall call{dnnl::matmul(pd)};
  call.argument(DNNL_ARG_SRC, shape.a, operation.input_buffer("a"))
      .argument(DNNL_ARG_WEIGHTS, pd.weights_desc(), operation.input_buffer("b"))
      .argument(DNNL_ARG_DST, shape.y, operation.output_buffer())
      .argument(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), scratch.take(pd.scratchpad_desc().get_size()));
  prepared.scratch_bytes = scratch.bytes();
  prepared.executable = std::make_unique<DnnlExecutable>(one_call(std::move(call)), operation.request.threads);
  return prepared;
}

}  // namespace sheaf
