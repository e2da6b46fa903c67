#include "tests/sim/relayout.h"

#include "runtime/cpu/ops/elements.h"
#include "runtime/cuda/format.h"

#include <cstring>

namespace sheaf::sim {

namespace {

void copy_element(DType from, const char* source, DType to, char* target) {
  if (from == to) {
    std::memcpy(target, source, size_of(to));
  } else if (to == DType::float32) {
    BFloat16 narrow;
    std::memcpy(&narrow, source, sizeof narrow);
    const auto wide = static_cast<float>(narrow);
    std::memcpy(target, &wide, sizeof wide);
  } else {
    float wide = 0;
    std::memcpy(&wide, source, sizeof wide);
    const BFloat16 narrow(wide);
    std::memcpy(target, &narrow, sizeof narrow);
  }
}

}  // namespace

void relayout(const TensorSpec& from, const void* source, const TensorSpec& to, void* target) {
  const auto from_strides = cuda::strides_of(from), to_strides = cuda::strides_of(to);
  const int64_t count = element_count(from);
  std::vector<int64_t> at(from.dims.size(), 0);
  int64_t read = 0, write = 0;
  for (int64_t i = 0; i < count; ++i) {
    copy_element(from.dtype, static_cast<const char*>(source) + static_cast<size_t>(read) * size_of(from.dtype), to.dtype,
                 static_cast<char*>(target) + static_cast<size_t>(write) * size_of(to.dtype));
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
