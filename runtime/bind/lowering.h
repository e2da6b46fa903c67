// The last step of binding: lanes' operations with their addresses, waits and events.
#pragma once

#include "runtime/bind/caller_buffers.h"
#include "runtime/bind/planned_binding.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// The addresses of a planned binding's tensors, once its memory exists.
struct Addresses {
  const PlannedBinding& planned;
  const VariableStore& store;
  const IdVector<LaneId, std::shared_ptr<void>>& arenas;
  CallerBuffers& buffers;

  /// Puts the address of `tensor` plus `offset` bytes into `slot`: now, or at each run if the caller supplies it.
  void put(void** slot, TensorId tensor, size_t offset = 0) const;
};

/// The lanes' programs, and everything that must live as long as they do.
struct LoweredLanes {
  IdVector<LaneId, LaneProgram> programs;
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<std::string> texts;
  IdVector<InstanceId, std::string> launches;  ///< the launch that this is part of; empty: a launch of its own
};

/// Takes the executables and texts of `planned`. `record`: work without waits is recorded once and replayed, if the lane's
/// queue can. Errors: a queue, or an event, that a device can't make.
Result<LoweredLanes> lower(PlannedBinding& planned, const Addresses& addresses, const DeviceSet& devices, Seconds deadline,
                           bool record);

}  // namespace sheaf
