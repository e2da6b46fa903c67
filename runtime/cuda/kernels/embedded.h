// The PTX of the project's own kernels (*.cu beside this file), as text in the program.
#pragma once

#include <string>
#include <vector>

namespace sheaf::cuda {

struct EmbeddedPtx {
  std::string name;  ///< "pooling", of pooling.cu
  std::string text;
};

/// One for each .cu, for sm_80 and later; none in a build without nvcc.
const std::vector<EmbeddedPtx>& embedded_ptx();

}  // namespace sheaf::cuda
