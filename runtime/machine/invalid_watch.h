// Watches for NaN in the work of the calling thread and its team.
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
  /// Whether there may have been a NaN since the start; if false, there certainly was none.
  bool raised() const {
    // libgomp's own threads can't be asked.
    return take_invalid_flag() || Team::own().saw_invalid() || !serves_openmp();
  }
};

}  // namespace sheaf
