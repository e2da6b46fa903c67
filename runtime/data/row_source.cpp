#include "runtime/data/row_source.h"

#include <numeric>

namespace sheaf {

RowLayout RowLayout::of(std::span<const int64_t> shape, int batch_dim) {
  RowLayout layout;
  for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
    if (d < batch_dim) layout.outer *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
    if (d > batch_dim) layout.row_elements *= static_cast<size_t>(shape[static_cast<size_t>(d)]);
  }
  return layout;
}

std::vector<int64_t> RowSource::batch_shape(int64_t rows) const {
  std::vector<int64_t> shape = shape_;
  if (batch_dim_ >= 0) shape[static_cast<size_t>(batch_dim_)] = rows;
  return shape;
}

Result<HostTensor> read_rows(const RowSource& source, int64_t first, int64_t count) {
  SHEAF_ASSIGN(auto tensor, make_tensor(source.dtype(), source.batch_shape(count)));
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), first);
  SHEAF_TRY(source.read(rows, 0, {tensor.bytes.data(), count, 0}));
  return tensor;
}

}  // namespace sheaf
