// Sizes of memory as people write them.
#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

/// Bytes from "16e9", "80GiB", "512 MB": a number and a unit of 1000 (kB, MB, GB, TB) or 1024 (KiB, MiB, GiB, TiB), none
/// for bytes. Errors: anything else, a size that isn't positive.
Result<double> parse_byte_size(const std::string& text, const std::string& what);

}  // namespace sheaf
