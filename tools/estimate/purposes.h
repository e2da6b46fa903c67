// The purpose of a run's memory.
#pragma once

#include "runtime/bind/bound_program.h"

#include <array>

namespace sheaf {

/// Bytes by purpose.
using MemoryByPurpose = std::array<size_t, kPurposes>;

/// By tensor of `bound`, which is `program`, of `plan`, expanded.
IdVector<TensorId, Value::Purpose> purposes_of_tensors(const BoundProgram& bound, const Plan& plan, const Program& program,
                                                       const VariableStore& store);

/// For a node of the variable store.
Value::Purpose purpose_of(const Plan& plan, const VariableStore::Node& node);

}  // namespace sheaf
