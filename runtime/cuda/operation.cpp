#include "runtime/cuda/operation.h"

#include <cassert>

namespace sheaf::cuda {

void Operation::run(void* const*, void*) { assert(false && "an operation of a GPU is put into a queue of its device"); }

}  // namespace sheaf::cuda
