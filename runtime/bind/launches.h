// How an asynchronous lane's operations are launched: several as one launch if the device can, and many launches as work that
// is recorded once and replayed.
#pragma once

#include "runtime/lanes/lane_program.h"

#include <memory>
#include <vector>

namespace sheaf {

/// What an operation touches.
struct OperandRange {
  const char* begin = nullptr;  ///< null: in the caller's memory, which differs between runs
  size_t bytes = 0;
  bool writes = false;
  bool local = true;   ///< in the lane's own memory
  bool moves = false;  ///< in one of two places (LaneProgram::two_places)
};

/// Fills in `lane.launches` and, with `record` and a queue that can record, `lane.segments`. `operands`: by operation. Returns
/// the merged operations that the launches point to. Only operations that could run in any order are merged.
std::vector<std::unique_ptr<Executable>> form_launches(LaneProgram& lane,
                                                       const std::vector<std::vector<OperandRange>>& operands, Device& device,
                                                       bool record);

}  // namespace sheaf
