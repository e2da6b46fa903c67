// Tables of kernels that take a register of channels at once, one for each instruction set and type of values.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/machine/isa.h"

#include <cstdint>

namespace sheaf {

/// `Table` has `lanes`, the values of f32 in a register, which channels must be a multiple of.
template <typename Table>
struct ChannelTables {
  const Table &v4_f32, &v4_bf16, &v3_f32, &v3_bf16;

  /// The best for values of `dtype` and this many channels that the CPU can run (as oneDNN sees it: DNNL_MAX_CPU_ISA can hide
  /// instructions); null: none.
  const Table* of(DType dtype, int64_t channels) const {
    if (dtype != DType::float32 && dtype != DType::bfloat16) return nullptr;
    const bool wide = dtype == DType::float32;
    if (has_avx512() && channels % v4_f32.lanes == 0) return wide ? &v4_f32 : &v4_bf16;
    if (has_avx2() && channels % v3_f32.lanes == 0) return wide ? &v3_f32 : &v3_bf16;
    return nullptr;
  }
};

}  // namespace sheaf
