#include "runtime/base/pipe.h"

#include <fcntl.h>

namespace sheaf {

bool Pipe::open() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  from = Descriptor(ends[0]);
  to = Descriptor(ends[1]);
  return true;
}

}  // namespace sheaf
