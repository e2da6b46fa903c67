// Integers of all sizes as handlers take them.
#pragma once

#include "tests/ptx/decoding.h"
#include "tests/ptx/warp.h"

#include <type_traits>

namespace sheaf::ptx {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
                                std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                                                   std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// Arithmetic wraps: it is done on unsigned numbers of at least 32 bits.
template <typename T>
using Wrap = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T>
struct Add {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) + Wrap<T>(b)); }
};
template <template <typename> typename F>
Handler binary_of(Type type) {
  switch (type) {
    case Type::u16: return binary<uint16_t, uint16_t, uint16_t, F<uint16_t>>;
    case Type::u32: return binary<uint32_t, uint32_t, uint32_t, F<uint32_t>>;
    case Type::u64: return binary<uint64_t, uint64_t, uint64_t, F<uint64_t>>;
    case Type::s16: return binary<int16_t, int16_t, int16_t, F<int16_t>>;
    case Type::s32: return binary<int32_t, int32_t, int32_t, F<int32_t>>;
    case Type::s64: return binary<int64_t, int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
template <template <typename> typename F>
Handler ternary_of(Type type) {
  switch (type) {
    case Type::u16: return ternary<uint16_t, uint16_t, uint16_t, uint16_t, F<uint16_t>>;
    case Type::u32: return ternary<uint32_t, uint32_t, uint32_t, uint32_t, F<uint32_t>>;
    case Type::u64: return ternary<uint64_t, uint64_t, uint64_t, uint64_t, F<uint64_t>>;
    case Type::s16: return ternary<int16_t, int16_t, int16_t, int16_t, F<int16_t>>;
    case Type::s32: return ternary<int32_t, int32_t, int32_t, int32_t, F<int32_t>>;
    case Type::s64: return ternary<int64_t, int64_t, int64_t, int64_t, F<int64_t>>;
    default: return nullptr;
  }
}
/// opcodes_product.cpp
void decode_product(Decoding& d);
void decode_product_sum(Decoding& d);

}  // namespace sheaf::ptx
