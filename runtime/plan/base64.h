#pragma once

#include "runtime/base/error.h"

#include <string>
#include <string_view>

namespace sheaf {

/// Base64 with padding (RFC 4648, section 4).
std::string to_base64(std::string_view bytes);

/// The inverse; strict: no blanks, full padding, no stray bits.
Result<std::string> from_base64(std::string_view text);

}  // namespace sheaf
