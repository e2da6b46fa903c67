// The order in which each lane works, and what it waits for.
#pragma once

#include "runtime/bind/bound_program.h"

#include <cstdint>
#include <vector>

namespace sheaf {

/// "Do not start before `instance`, which belongs to another lane, is done."
struct WaitFor {
  InstanceId instance;
  bool decides = false;  ///< the host itself must know whether it failed, and waits for that
};

/// An instance's place in its lane; none for an instance that is left out.
struct ScheduledInstance {
  int position = -1;
  int turn = -1;  ///< among all instances: an order in which they could run one after another, the same on all ranks
  std::vector<WaitFor> waits;
  bool signals = false;  ///< another lane of this process waits for it
  /// By lane: how many of its instances are known to be done when this starts; for its own lane, its position.
  IdVector<LaneId, int32_t> known_done;
};

struct Schedule {
  IdVector<LaneId, std::vector<InstanceId>> lanes;
  IdVector<InstanceId, ScheduledInstance> instances;
  IdVector<LaneId, size_t> first_part;  ///< of a run in two parts: how many of the lane's instances are in the first
};

/// The lanes that reports show: all but those at the end, lanes for messages and links, that have nothing to do.
IdRange<LaneId> shown_lanes(const Schedule& schedule, const DeviceSet& devices);

/// The instances of the first part of a run: all that its outputs need.
IdVector<InstanceId, bool> first_part(const BoundProgram& program, size_t outputs);

/// Orders each lane and finds the waits between them, leaving out those that others imply.
/// An instance that writes a variable and can't learn on its device that the run has failed waits until the host knows.
Schedule schedule(const BoundProgram& program, const BindContext& context);

/// Errors: something comes between a message's sending and its receipt on one of their lanes: two ranks could wait for each other.
Result<void> check_messages(const BoundProgram& program);

/// Errors: lanes have shared operations in different orders, and would wait for each other.
Result<void> check_collectives(const BoundProgram& program, const Schedule& schedule);

/// Whether the instance, which writes a variable on an asynchronous lane, can find out there that the run has failed.
bool guardable(const BoundProgram& program, const Instance& instance, const DeviceSet& devices);

}  // namespace sheaf
