// printf's formatting into a string.
#pragma once

#include <string>

namespace sheaf {

/// What printf would print; at most 511 bytes of it.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace sheaf
