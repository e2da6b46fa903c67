// The parts of an estimate that have their own files (internal to tools/estimate).
#pragma once

#include "tools/estimate/estimate.h"
#include "tools/estimate/planned_program.h"

namespace sheaf {

/// Estimate::devices with their memory, one for each lane.
void add_memory(const Plan& plan, const PlannedProgram& planned, const Program& program, const DeviceSet& devices,
                Estimate& estimate);

/// Times of devices, layers, kinds, operations and the step. Estimate::devices, layers, operations, costs and launches must be
/// set. `other_threads`: EstimateOptions'.
void add_times(const Plan& plan, const PlannedBinding& planned, const DeviceSet& devices, const DeviceDescriptions& description,
               int other_threads, Estimate& estimate);

/// estimate() for a program that is planned already.
Result<Estimate> estimate_planned(const Plan& plan, const Program& program, const PlannedProgram& planned,
                                  const std::vector<std::string>& list, const DeviceSet& devices, int64_t batch,
                                  const EstimateOptions& options);

}  // namespace sheaf
