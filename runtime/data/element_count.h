// Sizes of tensors that a file or a caller states.
#pragma once

#include "runtime/base/error.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace sheaf {

/// The number of elements of `shape`, or an error if a dimension is negative or they would take 2^60
/// bytes.
Result<uint64_t> count_elements(std::span<const int64_t> shape, size_t element_bytes);

}  // namespace sheaf
