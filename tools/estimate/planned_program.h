// A program planned for devices and a batch, with what it reads of the weights, none of it in memory (internal to
// tools/estimate).
#pragma once

#include "runtime/bind/planned_binding.h"
#include "tools/estimate/memory_classes.h"
#include "sheaf/model.h"

#include <memory>

namespace sheaf {

struct PlannedProgram {
  std::unique_ptr<ConstantStore> constants;
  PlannedBinding binding;
  IdVector<LaneId, MemoryByClass> lasting;  ///< constants in its memory; in a memory of several lanes, the first has them

  /// What the fullest lane needs.
  size_t peak_bytes() const;
};

/// Errors: as plan_binding().
Result<PlannedProgram> plan_program(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch,
                                    const BindOptions& options);

size_t sum(const MemoryByClass& bytes);

}  // namespace sheaf
