// Files of formats that sheaf doesn't read: what they are, and how to convert them.
#pragma once

#include "runtime/base/error.h"

#include <string>

namespace sheaf {

/// What `file`, which isn't `expected` ("a safetensors file"), is and how to convert it, judging by its first bytes (and a
/// zip archive's names): PyTorch's pickles, NumPy's files, images, text.
Error foreign_file(const std::string& file, const std::string& expected);

}  // namespace sheaf
