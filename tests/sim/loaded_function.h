// An entry of a loaded module.
#pragma once

#include "tests/sim/sim_driver.h"

namespace sheaf::sim {

struct LoadedFunction {
  int device = 0;
  std::string name;
  std::vector<size_t> parameters;  ///< bytes of each
  std::shared_ptr<const KernelCode> code;
};

}  // namespace sheaf::sim
