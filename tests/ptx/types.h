// Types of PTX instructions.
#pragma once

#include <cstdint>
#include <string_view>

namespace sheaf::ptx {

enum class Type : uint8_t {
  none,
  pred,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  b8,
  b16,
  b32,
  b64,
  f16,
  f16x2,
  bf16,
  bf16x2,
  f32,
  f64
};

enum class Rounding : uint8_t { none, nearest_even, zero, down, up, nearest_away };

inline int bytes_of(Type type) {
  switch (type) {
    case Type::none:
    case Type::pred: return 0;
    case Type::u8:
    case Type::s8:
    case Type::b8: return 1;
    case Type::u16:
    case Type::s16:
    case Type::b16:
    case Type::f16:
    case Type::bf16: return 2;
    case Type::u32:
    case Type::s32:
    case Type::b32:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::f32: return 4;
    case Type::u64:
    case Type::s64:
    case Type::b64:
    case Type::f64: return 8;
  }
  return 0;
}
inline bool is_signed(Type type) { return type >= Type::s8 && type <= Type::s64; }
inline bool is_integer(Type type) { return type >= Type::u8 && type <= Type::s64; }
inline bool is_bits(Type type) { return type >= Type::b8 && type <= Type::b64; }
inline bool is_float(Type type) { return type >= Type::f16; }

/// Type::none if it isn't one.
Type type_of(std::string_view name);

}  // namespace sheaf::ptx
