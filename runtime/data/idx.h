// IDX, the format of the MNIST files (http://yann.lecun.com/exdb/mnist), gzip'ed or not.
#pragma once

#include "runtime/data/stored_array.h"

#include <optional>
#include <string>

namespace sheaf {

/// The array in an IDX file; only the header is read; none: it is packed. Errors: those of load_idx().
Result<std::optional<StoredArray>> open_idx(const std::string& file);

/// Reads an IDX file of unsigned bytes, 32-bit integers or 32-bit floats, as uint8, int32 or float32. Errors
/// are located at the file: not an IDX file, another element type, more or fewer bytes than the header says.
Result<HostTensor> load_idx(const std::string& file);

}  // namespace sheaf
