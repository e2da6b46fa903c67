// A tensor in the caller's memory.
#pragma once

#include "runtime/base/dtype.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sheaf {

/// A named tensor of the caller's, dense and row-major.
struct TensorView {
  std::string name;
  DType dtype = DType::float32;
  std::vector<int64_t> shape;
  const void* data = nullptr;
};

}  // namespace sheaf
