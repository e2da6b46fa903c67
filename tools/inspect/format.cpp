#include "tools/inspect/format.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace sheaf {

namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Length of the valid UTF-8 sequence at the front of `text`; 0 if there is none.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  size_t length = 0;
  uint32_t code = 0;
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) length = 2, code = lead & 0x1Fu;
  else if (lead >= 0xE0 && lead < 0xF0) length = 3, code = lead & 0x0Fu;
  else if (lead >= 0xF0 && lead < 0xF5) length = 4, code = lead & 0x07u;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3Fu);
  }
  if ((length == 3 && code < 0x800) || (length == 4 && code < 0x10000)) return 0;
  if ((code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return 0;
  return length;
}

/// C1 controls, line separators and the marks that reorder text: a name must not change how its neighbours look.
bool invisible(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
  if (sequence.size() != 3) return false;
  if (sequence == "\xEF\xBF\xBE" || sequence == "\xEF\xBF\xBF") return true;  // no characters, and not in XML
  if (sequence[0] != '\xE2') return false;
  const unsigned char low = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return low >= 0xA8 && low <= 0xAE;
  return sequence[1] == '\x81' && low >= 0xA6 && low <= 0xA9;
}

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

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = sequence_length(text);
    const unsigned char c = static_cast<unsigned char>(text[0]);
    if (length == 0 || invisible(text.substr(0, length))) out += kReplacement;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c < 0x20 || c == 0x7F) (out += "\\x") += {kHex[c >> 4], kHex[c & 15]};
    else out += text.substr(0, length);
    text.remove_prefix(length ? length : 1);
  }
  return out;
}

std::string_view short_name(DType dtype) {
  switch (dtype) {
    case DType::float32: return "f32";
    case DType::int64: return "i64";
    case DType::int32: return "i32";
    case DType::uint8: return "u8";
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

}  // namespace sheaf
