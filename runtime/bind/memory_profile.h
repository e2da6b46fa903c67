// The contents of a binding's arenas over time: the data behind `estimate` and the HTML dump's memory chart.
#pragma once

#include "runtime/plan/op.h"

#include <cstddef>
#include <string>
#include <vector>

namespace sheaf {

struct OperationInfo;
struct PlannedBinding;
struct Program;
class DeviceSet;

/// A buffer of a lane's arena: a value's, or an operation's scratch memory.
struct ProfiledTensor {
  std::string name;  ///< the value's; of scratch memory the operation's layer
  size_t bytes = 0;  ///< rounded up to the arena's alignment
  size_t begin = 0;  ///< positions of the lane during which it is live: [begin, end)
  size_t end = 0;
  bool scratch = false;
};

/// An operation of a lane, in the lane's order.
struct ProfiledOperation {
  Op op{};  ///< the step's, or an operation inserted by binding
  std::string layer;
  std::vector<std::string> fused;  ///< further layers whose work it does
  int replica = -1;
  int step = -1;  ///< in Program::steps; -1 for operations inserted by binding
};

/// A lane of a binding (an entry of the device list, or the host) and its arena. Position p is the time from the
/// operation before number p until operation p is done; the last position, operations.size(), is after all of them,
/// when outputs may still wait for other lanes.
struct LaneMemory {
  std::string lane;          ///< "host", "cpu:1"
  size_t arena_bytes = 0;    ///< as allocated
  size_t peak_bytes = 0;     ///< the most live at any time: LaneInfo::arena_bound
  size_t peak_position = 0;  ///< the first position with that many
  std::vector<ProfiledOperation> operations;
  std::vector<size_t> live_bytes;  ///< by position, operations.size() + 1 of them: the most at any moment of it
  std::vector<ProfiledTensor> tensors;
};

/// By lane. `operations`: what describe_operations() gives for the program of `binding`.
std::vector<LaneMemory> memory_profile(const PlannedBinding& binding, const std::vector<OperationInfo>& operations,
                                       const Program& program, const DeviceSet& devices);

}  // namespace sheaf
