#pragma once

#include "runtime/base/descriptor.h"

namespace sheaf {

/// The ends of a pipe, which no program started from here inherits.
struct Pipe {
  Descriptor from;  ///< to read from
  Descriptor to;    ///< to write to

  /// False if there are no descriptors left, with the reason in errno.
  bool open();
};

}  // namespace sheaf
