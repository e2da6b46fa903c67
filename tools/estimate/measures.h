// The parts of an estimate that have their own files (internal to tools/estimate).
#pragma once

#include "tools/estimate/estimate.h"
#include "tools/estimate/planned_program.h"

namespace sheaf {

/// Estimate::devices with their memory, one for each lane.
void add_memory(const Plan& plan, const PlannedProgram& planned, const Program& program, const DeviceSet& devices,
                Estimate& estimate);

/// Times of devices, layers, kinds and the step. Estimate::devices, layers, operations, costs and launches are there.
void add_times(const Plan& plan, const PlannedBinding& planned, const DeviceSet& devices, const DeviceDescriptions& description,
               Estimate& estimate);

}  // namespace sheaf
