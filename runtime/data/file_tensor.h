// Tensors read from files, which know more element types than programs compute with.
#pragma once

#include "sheaf/tensor.h"

#include <string>

namespace sheaf {

struct FileTensor : HostTensor {
  std::string stored;  ///< the element type in the file: the dtype's name, or "float64", which is read as float32
};

/// float64 numbers as float32, to nearest; those beyond its range become infinite. `to` has as many elements as `from`.
void narrow(std::span<const double> from, std::span<float> to);

}  // namespace sheaf
