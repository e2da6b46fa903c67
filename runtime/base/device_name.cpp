#include "runtime/base/device_name.h"

#include <charconv>

namespace sheaf {

std::optional<int> parse_device_index(std::string_view text) {
  constexpr size_t kMostDigits = 9;
  if (text.empty() || text.size() > kMostDigits || text.find_first_not_of("0123456789") != text.npos) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<DeviceName> parse_device_name(std::string_view text) {
  const size_t colon = text.find(':');
  DeviceName name{text.substr(0, colon), {}};
  if (name.kind.empty()) return std::nullopt;
  if (colon == text.npos) return name;
  name.index = parse_device_index(text.substr(colon + 1));
  if (!name.index || *name.index >= kMostDevices) return std::nullopt;
  return name;
}

}  // namespace sheaf
