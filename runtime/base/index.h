// Positions that plans hold as signed integers, for the standard library's containers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sheaf {

/// `position`, which is not negative, as an index.
constexpr size_t index_of(int64_t position) { return static_cast<size_t>(position); }

}  // namespace sheaf
