// A program planned for devices and a batch, with the weights it reads, none of them in memory (internal to tools/estimate).
#pragma once

#include "runtime/bind/planned_binding.h"
#include "tools/estimate/purposes.h"
#include "sheaf/model.h"

#include <memory>

namespace sheaf {

struct PlannedProgram {
  std::unique_ptr<VariableStore> store;
  PlannedBinding binding;
  IdVector<LaneId, MemoryByPurpose> lasting;  ///< constants in its memory; if several lanes share a memory, the first has them

  /// What the fullest lane needs.
  size_t peak_bytes() const;
};

/// Errors: as plan_binding().
Result<PlannedProgram> plan_program(const Plan& plan, const Program& program, const DeviceSet& devices, int64_t batch,
                                    const BindOptions& options);

size_t sum(const MemoryByPurpose& bytes);

}  // namespace sheaf
