// Looks out for NaN in what the calling thread and its team do.
#pragma once

#include "runtime/machine/invalid_flag.h"
#include "runtime/machine/openmp.h"
#include "runtime/machine/team.h"

namespace sheaf {

class InvalidWatch {
 public:
  /// Begins.
  InvalidWatch() {
    take_invalid_flag();
    Team::own().forget_invalid();
  }
  /// Whether there may have been NaN since: certainly not where it says no.
  bool raised() const {
    // Threads of libgomp's own can't be asked.
    return take_invalid_flag() || Team::own().saw_invalid() || !serves_openmp();
  }
};

}  // namespace sheaf
