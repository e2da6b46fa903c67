#include "runtime/cuda/installation.h"

#ifndef SHEAF_CUDA_BACKEND
namespace sheaf::cuda {

Installation look_at_installation() {
  Installation none;
  none.problem = "this build has no CUDA backend";
  return none;
}

}  // namespace sheaf::cuda
#endif
