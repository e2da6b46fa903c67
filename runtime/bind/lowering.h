// The last step of binding: lanes' operations with their addresses, waits and events.
#pragma once

#include "runtime/bind/caller_buffers.h"
#include "runtime/bind/planned_binding.h"

#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// Where the tensors of a planned binding lie, now that its memory is there.
struct Addresses {
  const PlannedBinding& planned;
  const ConstantStore& constants;
  const IdVector<LaneId, std::shared_ptr<void>>& arenas;
  CallerBuffers& buffers;

  /// Puts the address of `tensor`, `offset` bytes on, into `slot`: now, or at each run if the caller supplies it.
  void put(void** slot, TensorId tensor, size_t offset = 0) const;
};

/// What lanes run, and what must live as long as they do.
struct LoweredLanes {
  IdVector<LaneId, LaneProgram> programs;
  std::vector<std::unique_ptr<Executable>> executables;
  std::vector<std::unique_ptr<Event>> events;
  std::vector<std::string> texts;
  IdVector<InstanceId, std::string> launches;  ///< the launch that this is part of; empty: a launch of its own
};

/// Takes the executables and texts of `planned`. `record`: work that a lane does by itself is recorded once and replayed, if
/// its queue can. Errors: a queue, or an event, that a device doesn't make.
Result<LoweredLanes> lower(PlannedBinding& planned, const Addresses& addresses, const DeviceSet& devices, Seconds deadline,
                           bool record);

}  // namespace sheaf
