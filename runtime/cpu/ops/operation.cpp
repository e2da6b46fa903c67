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

}  // namespace sheaf
