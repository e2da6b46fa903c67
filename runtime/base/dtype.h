// Element types of tensors, as a model file names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sheaf {

/// A boolean is a byte, 0 or 1.
enum class DType : uint8_t { float32, int64, int32, uint8, float16, bfloat16, boolean };

/// Bytes of one element.
constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::int64: return 8;
    case DType::float32:
    case DType::int32: return 4;
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::uint8:
    case DType::boolean: return 1;
  }
  return 0;
}

/// The model file's name of a dtype: "float32", "int64", …
std::string_view name_of(DType dtype);

/// The inverse of name_of; empty for an unknown name.
std::optional<DType> dtype_from_name(std::string_view name);

}  // namespace sheaf
