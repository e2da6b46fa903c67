// Tables of kernels that take a register of channels at once, one for each instruction set and type of values.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/machine/isa.h"

#include <cstdint>

namespace sheaf {

/// The better of two tables that the CPU can run (as oneDNN sees it: DNNL_MAX_CPU_ISA can hide instructions) and whose `lanes`, the values of
/// f32 in a register, `channels` is a multiple of; null: none.
template <typename Table>
const Table* table_for(const Table& v4, const Table& v3, int64_t channels) {
  if (has_avx512() && channels % v4.lanes == 0) return &v4;
  if (has_avx2() && channels % v3.lanes == 0) return &v3;
  return nullptr;
}

template <typename Table>
struct ChannelTables {
  const Table &v4_f32, &v4_bf16, &v3_f32, &v3_bf16;

  /// The best for values of `dtype` and this many channels; null: none.
  const Table* of(DType dtype, int64_t channels) const {
    if (dtype == DType::float32) return table_for(v4_f32, v3_f32, channels);
    return dtype == DType::bfloat16 ? table_for(v4_bf16, v3_bf16, channels) : nullptr;
  }
};

}  // namespace sheaf
