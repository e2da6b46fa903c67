// Options of a machine whose GPUs fail a test if they are misused.
#pragma once

#include "tests/sim/sim_machine.h"

#include <gtest/gtest.h>

namespace sheaf::sim {

inline MachineOptions strict(unsigned seed = 1, std::shared_ptr<Device> operations = nullptr) {
  MachineOptions options;
  options.driver.devices = 3;
  options.driver.memory_bytes = int64_t{64} << 20;
  options.driver.seed = seed;
  options.driver.violation = [](const std::string& text) { ADD_FAILURE() << text; };
  options.library.operations = std::move(operations);
  return options;
}

}  // namespace sheaf::sim
