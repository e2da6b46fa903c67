#include "runtime/device/operation.h"

namespace sheaf {

TensorSpec plain_tensor(DType dtype, std::vector<int64_t> dims) {
  TensorSpec spec;
  spec.dtype = dtype;
  spec.dims = std::move(dims);
  spec.bytes = static_cast<size_t>(element_count(spec)) * size_of(dtype);
  return spec;
}

bool same_format(const TensorSpec& a, const TensorSpec& b) {
  if (!a.format || !b.format) return !a.format && !b.format;
  return a.format == b.format || a.format->equals(*b.format);
}

bool same_form(const TensorSpec& a, const TensorSpec& b) { return a.dtype == b.dtype && same_format(a, b); }

int64_t element_count(const TensorSpec& tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims) count *= dim;
  return count;
}

}  // namespace sheaf
