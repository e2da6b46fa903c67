// What a lane executes: flat arrays, all addresses and waits worked out by binding.
#pragma once

#include "runtime/device/device.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// Wait until lane `lane` has made `position` of its operations known as done.
struct LaneWait {
  int lane = 0;
  int32_t position = 0;
  Event* event = nullptr;  ///< recorded by then, if that lane's device is asynchronous
};

struct LaneOperation {
  enum Kind : uint8_t { launch, copy, print } kind = launch;
  bool can_fail = false;
  bool commits = false;    ///< writes a variable: left out once the run has failed
  bool decides = false;    ///< whether it failed must be known before others go on, also on an asynchronous device
  int32_t signal = 0;  ///< position to make known when done; 0: nobody waits
  uint32_t first_slot = 0;
  uint32_t first_wait = 0, end_wait = 0;
  Executable* executable = nullptr;
  void* scratch = nullptr;
  CopyShape copy_shape;              ///< copy: slots are target, source
  const std::string* text = nullptr; ///< print
  Event* event = nullptr;            ///< to record before the signal, on an asynchronous device
  int replica = -1;                  ///< of a region, for messages; -1 outside
  int instance = -1;                 ///< index into the binding's steps
};

struct LaneProgram {
  std::vector<LaneOperation> operations;
  std::vector<void*> slots;  ///< operands' addresses
  std::vector<LaneWait> waits;
  std::unique_ptr<Queue> queue;
  bool asynchronous = false;
  int threads = 1;
};

}  // namespace sheaf
