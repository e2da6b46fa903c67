// mul and mad of integers: the low half, the high half, all of it.
#include "tests/ptx/integer.h"

namespace sheaf::ptx {
namespace {

template <typename T>
struct MulLow {
  T operator()(T a, T b) const { return static_cast<T>(Wrap<T>(a) * Wrap<T>(b)); }
};
template <typename T>
struct MulHigh {
  T operator()(T a, T b) const { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T))); }
};
template <typename T>
struct MulWide {
  Wide<T> operator()(T a, T b) const { return Wide<T>(a) * Wide<T>(b); }
};
template <typename T>
struct MadLow {
  T operator()(T a, T b, T c) const { return Add<T>()(MulLow<T>()(a, b), c); }
};
template <typename T>
struct MadHigh {
  T operator()(T a, T b, T c) const { return Add<T>()(MulHigh<T>()(a, b), c); }
};
template <typename T>
struct MadWide {
  Wide<T> operator()(T a, T b, Wide<T> c) const { return Add<Wide<T>>()(MulWide<T>()(a, b), c); }
};
Handler wide_product(Type type) {
  switch (type) {
    case Type::u16: return binary<uint32_t, uint16_t, uint16_t, MulWide<uint16_t>>;
    case Type::s16: return binary<int32_t, int16_t, int16_t, MulWide<int16_t>>;
    case Type::u32: return binary<uint64_t, uint32_t, uint32_t, MulWide<uint32_t>>;
    case Type::s32: return binary<int64_t, int32_t, int32_t, MulWide<int32_t>>;
    default: return nullptr;
  }
}
Handler wide_product_sum(Type type) {
  switch (type) {
    case Type::u16: return ternary<uint32_t, uint16_t, uint16_t, uint32_t, MadWide<uint16_t>>;
    case Type::s16: return ternary<int32_t, int16_t, int16_t, int32_t, MadWide<int16_t>>;
    case Type::u32: return ternary<uint64_t, uint32_t, uint32_t, uint64_t, MadWide<uint32_t>>;
    case Type::s32: return ternary<int64_t, int32_t, int32_t, int64_t, MadWide<int32_t>>;
    default: return nullptr;
  }
}

Type wider(Type type) {
  switch (type) {
    case Type::u16: return Type::u32;
    case Type::s16: return Type::s32;
    case Type::u32: return Type::u64;
    default: return Type::s64;
  }
}

}  // namespace

void decode_product(Decoding& d) {
  const int part = d.one_of({"lo", "hi", "wide"});
  const Type type = d.type();
  d.destination(0, 0, part == 2 ? bytes_of(type) * 2 : bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.emit(part == 0   ? binary_of<MulLow>(type)
         : part == 1 ? binary_of<MulHigh>(type)
         : part == 2 ? wide_product(type)
                     : nullptr,
         3);
}

void decode_product_sum(Decoding& d) {
  const int part = d.one_of({"lo", "hi", "wide"});
  const Type type = d.type();
  d.destination(0, 0, part == 2 ? bytes_of(type) * 2 : bytes_of(type));
  d.source(1, 1, type);
  d.source(2, 2, type);
  d.source(3, 3, part == 2 ? wider(type) : type);
  d.emit(part == 0   ? ternary_of<MadLow>(type)
         : part == 1 ? ternary_of<MadHigh>(type)
         : part == 2 ? wide_product_sum(type)
                     : nullptr,
         4);
}

}  // namespace sheaf::ptx
