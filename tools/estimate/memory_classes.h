// What the memory of a run is for.
#pragma once

#include "runtime/bind/bound_program.h"

#include <array>
#include <string>
#include <vector>

namespace sheaf {

/// parameters: with buffers, such as running means; also new values that wait until the step is certain.
/// derived: parameters in a library's format, and what is folded from them.
/// gradients: of parameters, and their sums over micro-batches; gradients of activations are activations.
/// activations: everything else that a layer makes, forward or backward.
/// workspace: scratch memory, and what an operation keeps only for its backward pass.
/// communication: chunks, gathered values, copies on another device, sums over replicas.
enum class MemoryClass { parameters, derived, gradients, optimizer, activations, workspace, communication };
inline constexpr size_t kMemoryClasses = 7;
const char* name_of(MemoryClass kind);

/// Bytes by class.
using MemoryByClass = std::array<size_t, kMemoryClasses>;

/// By value of `program`, one of `plan`'s.
std::vector<MemoryClass> classes_of_values(const Plan& plan, const Program& program);

/// By tensor of `bound`, which is `program` expanded.
IdVector<TensorId, MemoryClass> classes_of_tensors(const BoundProgram& bound, const Plan& plan, const Program& program);

/// For nodes of the constant store.
MemoryClass class_of(const Plan& plan, const ConstantStore::Node& node);

}  // namespace sheaf
