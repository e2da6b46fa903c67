#pragma once

#include "runtime/base/descriptor.h"
#include "runtime/base/error.h"

#include <string_view>

namespace sheaf {

/// A file in memory that holds `bytes`, for code that wants a path (path_of_open_file()). Error: no memory.
Result<Descriptor> memory_file(std::string_view bytes);

}  // namespace sheaf
