// IDX, the format of the MNIST files (http://yann.lecun.com/exdb/mnist), packed by gzip or not.
#pragma once

#include "sheaf/tensor.h"

#include <string>

namespace sheaf {

/// Reads an IDX file of unsigned bytes, 32-bit integers or 32-bit floats, as uint8, int32 or float32. Errors
/// are located at the file: not an IDX file, another element type, more or fewer bytes than the header says.
Result<HostTensor> load_idx(const std::string& file);

}  // namespace sheaf
