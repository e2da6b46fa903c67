// How an asynchronous lane's operations are handed over: several as one launch where the device can, and many launches
// as work that is recorded once and replayed.
#pragma once

#include "runtime/lanes/lane_program.h"

#include <memory>
#include <vector>

namespace sheaf {

/// What an operation touches.
struct OperandRange {
  const char* begin = nullptr;  ///< null: in the caller's memory, which is another at each run
  size_t bytes = 0;
  bool writes = false;
  bool local = true;  ///< lies in the lane's own memory
};

/// Fills in `lane.launches` and, with `record` and a queue that can, `lane.segments`. `operands`: by operation. Returns
/// the merged operations that the launches point to. Only such operations are merged as could run in any order.
std::vector<std::unique_ptr<Executable>> form_launches(LaneProgram& lane,
                                                       const std::vector<std::vector<OperandRange>>& operands, Device& device,
                                                       bool record);

}  // namespace sheaf
