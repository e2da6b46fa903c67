#include "runtime/base/byte_size.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace sheaf {

Result<double> parse_byte_size(const std::string& text, const std::string& what) {
  static const std::pair<const char*, double> kUnits[] = {{"", 1},         {"B", 1},        {"kB", 1e3},    {"KB", 1e3},
                                                          {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},   {"KiB", 0x1p10},
                                                          {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view rest(parsed.ptr, text.data() + text.size());
  if (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);
  if (parsed.ec == std::errc() && std::isfinite(number) && number > 0) {
    for (const auto& [unit, bytes] : kUnits) {
      if (rest == unit) return number * bytes;
    }
  }
  return Error(what + ": '" + text + "' is no size; expected e.g. 80GiB, 512MB or 16e9");
}

}  // namespace sheaf
