#include "runtime/cpu/ops/operation.h"

namespace sheaf {

std::string activation_letters(size_t rank) {
  switch (rank) {
    case 2: return "nc";
    case 3: return "ncw";
    case 4: return "nchw";
    case 5: return "ncdhw";
    default: return "";
  }
}

TensorSpec activation_tensor(const DnnlDims& dims, const DnnlDesc& desc) {
  return dnnl_tensor(dims, desc, plain_desc(dims, desc.data_type()), activation_letters(dims.size()));
}

}  // namespace sheaf
