#include "runtime/base/dtype.h"

#include <array>
#include <utility>

namespace sheaf {

namespace {
constexpr std::array<std::pair<DType, std::string_view>, 7> kNames = {{
    {DType::float32, "float32"},
    {DType::int64, "int64"},
    {DType::int32, "int32"},
    {DType::uint8, "uint8"},
    {DType::float16, "float16"},
    {DType::bfloat16, "bfloat16"},
    {DType::boolean, "bool"},
}};
}  // namespace

std::string_view name_of(DType dtype) {
  for (const auto& [known, name] : kNames)
    if (known == dtype) return name;
  return "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& [dtype, known] : kNames)
    if (known == name) return dtype;
  return std::nullopt;
}

}  // namespace sheaf
