// printf's formatting into a string.
#pragma once

#include <string>

namespace sheaf {

/// The text printf would print, cut to 511 bytes.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace sheaf
