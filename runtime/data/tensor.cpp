#include "sheaf/tensor.h"

#include "runtime/base/file.h"
#include "runtime/data/element_count.h"

#include <algorithm>

namespace sheaf {

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t dim : shape) {
    if (text.size() > 1) text += ", ";
    text += dim == -1 ? "batch" : std::to_string(dim);
  }
  return text + "]";
}

TensorView view_of(const NamedTensor& tensor) {
  return {tensor.name, tensor.tensor.dtype, tensor.tensor.shape, tensor.tensor.bytes.data()};
}

std::vector<TensorView> views_of(std::span<const NamedTensor> tensors) {
  std::vector<TensorView> views;
  for (const NamedTensor& tensor : tensors) views.push_back(view_of(tensor));
  return views;
}

Result<uint64_t> count_elements(std::span<const int64_t> shape, size_t element_bytes) {
  constexpr int64_t kLargest = int64_t{1} << 60;
  int64_t bytes = static_cast<int64_t>(element_bytes);
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return Error("a shape of " + shape_text(shape));
    empty |= dim == 0;
    // Zeros are left out: strides of an empty tensor must not overflow either.
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes) || bytes >= kLargest)
      return Error("a shape of " + shape_text(shape) + " is too large");
  }
  return empty ? 0 : static_cast<uint64_t>(bytes) / element_bytes;
}

Result<HostTensor> make_tensor(DType dtype, std::vector<int64_t> shape) {
  SHEAF_ASSIGN(const auto count, count_elements(shape, size_of(dtype)));
  const uint64_t bytes = count * size_of(dtype);
  const auto too_large = [&] {
    return Error("a tensor of shape " + shape_text(shape) + " takes " + std::to_string(bytes) +
                 " bytes; there is not enough memory for it");
  };
  // An allocation may succeed beyond what exists, and the process be killed as it is filled.
  if (bytes > physical_memory()) return too_large();
  HostTensor tensor{dtype, std::move(shape), {}};
  try {
    tensor.bytes.resize(bytes);
  } catch (const std::bad_alloc&) {
    shape = std::move(tensor.shape);
    return too_large();
  }
  return tensor;
}

}  // namespace sheaf
