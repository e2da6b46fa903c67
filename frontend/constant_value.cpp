#include "frontend/constant_value.h"

#include "runtime/data/inflate.h"
#include "runtime/plan/base64.h"

#include <cmath>
#include <limits>

namespace sheaf::frontend {
namespace {

/// The most that packed data may unpack to: a small file must not fill the memory.
constexpr int64_t most_constant_elements = int64_t{1} << 26;

template <typename T>
void append(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Adds one number; false if the dtype can't hold it.
bool append_number(std::string& bytes, DType dtype, const Json& item) {
  const double number = item.is_boolean() ? static_cast<double>(item.get<bool>()) : item.get<double>();
  if (dtype == DType::float32) {
    append(bytes, static_cast<float>(number));
    return true;
  }
  if (dtype == DType::boolean) {
    append(bytes, static_cast<uint8_t>(number != 0));
    return number == 0 || number == 1;
  }
  if (number != std::nearbyint(number) || std::abs(number) > 0x1p62) return false;
  const int64_t whole = item.is_number_integer() ? item.get<int64_t>() : static_cast<int64_t>(number);
  if (dtype == DType::int64) {
    append(bytes, whole);
    return true;
  }
  append(bytes, static_cast<int32_t>(whole));
  return whole == static_cast<int32_t>(whole);
}

/// Reads nested lists as shape and bytes. Returns what is wrong with them, or nothing.
std::string flatten(const Json& value, DType dtype, size_t depth, std::vector<int64_t>& shape, std::string& bytes) {
  if (!value.is_array()) {
    if (depth < shape.size()) return "has lists of different depths";
    if (append_number(bytes, dtype, value)) return {};
    return "has a number that " + std::string(name_of(dtype)) + " can't hold: " + value.dump();
  }
  const auto size = static_cast<int64_t>(value.size());
  if (depth == shape.size()) {
    if (!bytes.empty()) return "has lists of different depths";
    shape.push_back(size);
  }
  if (shape[depth] != size) return "has lists of different lengths";
  for (const Json& item : value)
    if (std::string problem = flatten(item, dtype, depth + 1, shape, bytes); !problem.empty()) return problem;
  return {};
}

Result<std::string> unpacked(const std::string& data, size_t size) {
  SHEAF_ASSIGN(const auto packed, from_base64(data));
  Inflater inflater(packed, Inflater::zlib);
  SHEAF_ASSIGN(auto bytes, inflater.read(size));
  SHEAF_TRY(inflater.finish());
  return bytes;
}

}  // namespace

void check_constant(LayerCheck& layer) {
  Json &value = layer.arguments["value"], &shape = layer.arguments["shape"], &data = layer.arguments["data"];
  const DType dtype = *dtype_from_name(layer.arguments["dtype"].get<std::string>());
  if (value.is_null() == data.is_null())
    return layer.refuse("value", "or 'data' must be given" + std::string(value.is_null() ? "" : ", not both"));
  std::string bytes;
  if (data.is_null()) {
    if (!shape.is_null()) return layer.refuse("shape", "goes with 'data'; that of 'value' follows from its lists");
    std::vector<int64_t> sizes;
    if (std::string problem = flatten(value, dtype, 0, sizes, bytes); !problem.empty()) return layer.refuse("value", problem);
    shape = sizes;
  } else {
    if (shape.is_null()) return layer.refuse("shape", "is needed with 'data'");
    double elements = 1;
    for (const Json& size : shape) elements *= size.get<double>();
    if (elements > static_cast<double>(most_constant_elements))
      return layer.refuse("shape", "has more than " + std::to_string(most_constant_elements) + " elements; use a Buffer");
    auto read = unpacked(data.get<std::string>(), static_cast<size_t>(elements) * size_of(dtype));
    if (!read)
      return layer.refuse("data", "must be the elements of 'shape', compressed by zlib, in base64: " + read.error().message());
    bytes = std::move(*read);
  }
  data = to_base64(bytes);
  value = nullptr;
}

}  // namespace sheaf::frontend
