#pragma once

#include <string>
#include <string_view>

namespace sheaf {

/// SHA-256 (FIPS 180-4) of `bytes` as 64 lower-case hexadecimal digits. Guards plans against damage, not
/// malice.
std::string sha256(std::string_view bytes);

}  // namespace sheaf
