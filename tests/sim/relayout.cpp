#include "tests/sim/relayout.h"

#include "runtime/cuda/format.h"
#include "runtime/data/convert.h"

#include <cstring>

namespace sheaf::sim {

namespace {

float widened(DType dtype, const char* source) {
  if (dtype == DType::float32) {
    float wide = 0;
    std::memcpy(&wide, source, sizeof wide);
    return wide;
  }
  uint16_t narrow = 0;
  std::memcpy(&narrow, source, sizeof narrow);
  return dtype == DType::float16 ? float_from_half(narrow) : float_from_bfloat16(narrow);
}

void copy_element(DType from, const char* source, DType to, char* target) {
  if (from == to) {
    std::memcpy(target, source, size_of(to));
    return;
  }
  const float wide = widened(from, source);
  if (to == DType::float32) {
    std::memcpy(target, &wide, sizeof wide);
    return;
  }
  const uint16_t narrow = to == DType::float16 ? half_from_float(wide) : bfloat16_from_float(wide);
  std::memcpy(target, &narrow, sizeof narrow);
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
