#include "tests/sim/relayout.h"

#include "runtime/cuda/format.h"

#include <cstring>

namespace sheaf::sim {

void relayout(const TensorSpec& from, const void* source, const TensorSpec& to, void* target) {
  const size_t size = size_of(from.dtype);
  const auto from_strides = cuda::strides_of(from), to_strides = cuda::strides_of(to);
  const int64_t count = element_count(from);
  std::vector<int64_t> at(from.dims.size(), 0);
  int64_t read = 0, write = 0;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(static_cast<char*>(target) + static_cast<size_t>(write) * size,
                static_cast<const char*>(source) + static_cast<size_t>(read) * size, size);
    for (size_t dim = at.size(); dim-- > 0;) {
      read += from_strides[dim];
      write += to_strides[dim];
      if (++at[dim] < from.dims[dim]) break;
      read -= from_strides[dim] * at[dim];
      write -= to_strides[dim] * at[dim];
      at[dim] = 0;
    }
  }
}

}  // namespace sheaf::sim
