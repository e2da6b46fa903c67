// Lists in a line of text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sheaf {

/// "a, b, c".
inline std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ") {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) text.append(i ? separator : "").append(parts[i]);
  return text;
}

}  // namespace sheaf
