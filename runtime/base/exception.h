// The edge of the C++ interface: exceptions become errors.
#pragma once

#include "runtime/base/error.h"

namespace sheaf {

inline constexpr const char* kNoMemory = "not enough memory";

/// In a catch block, at the edge of what promises not to throw: what was thrown as an Error, std::bad_alloc as kNoMemory, also
/// where there is no memory for one, anything else as an internal error.
Error error_of_exception() noexcept;

}  // namespace sheaf
