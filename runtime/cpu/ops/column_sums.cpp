#include "runtime/cpu/ops/column_sums.h"

#include <algorithm>
#include <bit>

namespace sheaf {
namespace {

float widen(float value) { return value; }
float widen(uint16_t bf16) { return std::bit_cast<float>(uint32_t(bf16) << 16); }

template <typename Value>
void sum(const Value* in, int64_t rows, int64_t columns, int64_t row_stride, float* out) {
  constexpr int64_t block_rows = 128, strip = 64;
  for (int64_t first = 0; first < columns; first += strip) {
    const int64_t width = std::min(strip, columns - first);
    float total[strip] = {};
    for (int64_t block = 0; block < rows; block += block_rows) {
      float part[strip] = {};
      for (int64_t row = block; row < std::min(rows, block + block_rows); ++row)
        for (int64_t j = 0; j < width; ++j) part[j] += widen(in[row * row_stride + first + j]);
      for (int64_t j = 0; j < width; ++j) total[j] += part[j];
    }
    std::copy_n(total, width, out + first);
  }
}

}  // namespace

void sum_columns(const void* matrix, dnnl::memory::data_type type, int64_t rows, int64_t columns, int64_t row_stride,
                 float* sums) {
  if (type == dnnl::memory::data_type::bf16) sum(static_cast<const uint16_t*>(matrix), rows, columns, row_stride, sums);
  else sum(static_cast<const float*>(matrix), rows, columns, row_stride, sums);
}

}  // namespace sheaf
