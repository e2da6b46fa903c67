#include "runtime/plan/base64.h"

#include <array>
#include <cstdint>

namespace sheaf {

namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values;
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) values[static_cast<unsigned char>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[(group >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return Error("base64 of " + std::to_string(text.size()) + " digits; expected a multiple of 4");
  size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const size_t missing = at + 4 == text.size() ? padding : 0;
    uint32_t group = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int value = i < 4 - missing ? kValues[static_cast<unsigned char>(text[at + i])] : 0;
      if (value < 0) return Error("not a base64 digit at position " + std::to_string(at + i));
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (size_t i = 0; i < 3 - missing; ++i) bytes += static_cast<char>(group >> (16 - 8 * i));
    if ((group & ((1u << (8 * missing)) - 1)) != 0) return Error("base64 with stray bits at its end");
  }
  return bytes;
}

}  // namespace sheaf
