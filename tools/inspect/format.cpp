#include "tools/inspect/format.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace sheaf {

namespace {

/// "51.4 MB"
std::string amount_text(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  while (bytes >= 999.95 && unit + 1 < std::size(units)) bytes /= 1000, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace

std::string_view short_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "f32";
    case DType::int64: return "i64";
    case DType::int32: return "i32";
    case DType::uint8: return "u8";
    case DType::boolean: return "bool";
    case DType::float16: return "f16";
    case DType::bfloat16: return "bf16";
  }
  return "?";
}

std::string shape_text(const std::vector<Extent>& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const Extent& dim : shape) {
    if (!text.empty()) text += "×";
    const bool sum = dim.terms.size() + (dim.constant != 0) > 1;
    text += sum ? "(" + to_string(dim) + ")" : to_string(dim);
  }
  return text;
}

std::string bytes_text(const std::optional<Extent>& bytes) {
  if (!bytes) return "?";
  std::string text;
  const auto append = [&](int64_t count, const std::string& symbol) {
    if (text.empty()) text = count < 0 ? "-" : "";
    else text += count < 0 ? " - " : " + ";
    text += amount_text(std::abs(static_cast<double>(count))) + (symbol.empty() ? "" : "*" + symbol);
  };
  for (const auto& [symbol, count] : bytes->terms) append(count, symbol);
  if (bytes->constant != 0 || bytes->is_static()) append(bytes->constant, "");
  return text;
}

std::string chunks_text(const std::vector<int64_t>& chunks) {
  std::string text;
  for (size_t i = 0; i < chunks.size();) {
    size_t run = 1;
    while (chunks.size() > 8 && i + run < chunks.size() && chunks[i + run] == chunks[i]) ++run;
    if (i > 0) text += run > 1 || chunks.size() > 8 ? ", " : ",";
    text += std::to_string(chunks[i]);
    if (run > 1) text += " (" + std::to_string(run) + " times)";
    i += run;
  }
  return text;
}

std::string tensor_text(const PlacementTensor& tensor) {
  return shape_text(tensor.shape) + " " + std::string(short_name(tensor.dtype));
}

size_t width_of(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return width;
}

std::string_view last_component(std::string_view layer) {
  const size_t dot = layer.rfind('.');
  return dot == std::string_view::npos ? layer : layer.substr(dot + 1);
}

std::string_view group_of(std::string_view layer) {
  const size_t dot = layer.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : layer.substr(0, dot);
}

std::string batch_text(int64_t batch, int shards) {
  std::string text = "batch " + std::to_string(batch);
  if (shards > 0) text += " in " + std::to_string(shards) + (shards == 1 ? " shard" : " shards");
  return text;
}

}  // namespace sheaf
