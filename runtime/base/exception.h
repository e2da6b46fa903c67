// The edge of the C++ interface: exceptions become errors.
#pragma once

#include "runtime/base/error.h"

namespace sheaf {

inline constexpr const char* kNoMemory = "not enough memory";

/// For a catch block at the edge of code that promises not to throw: turns an Error back into itself, std::bad_alloc into
/// kNoMemory (without needing memory), and anything else into an internal error.
Error error_of_exception() noexcept;

}  // namespace sheaf
