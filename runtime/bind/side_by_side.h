// Moves instances to the front or the end, equal kernels side by side: many small launches become few (Device::merge).
#pragma once

#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

namespace sheaf {

/// Whether an instance makes a tensor of another dtype, and does nothing else.
bool converts(const BoundProgram& program, const Instance& instance);
/// What instances have in common that could be one launch: their kernel, or the dtypes from and to which they convert. Empty: nothing.
std::string launch_key(const BoundProgram& program, const Program& plan, const Instance& instance);

enum class Side : uint8_t { first, last };

/// Puts the `chosen` instances first or last: each after those of them that it reads; among those that can be adjacent, equal
/// kernels, and equal conversions, side by side. Errors: those of rearrange().
Result<void> put_side_by_side(BoundProgram& program, const BindContext& context, const IdVector<InstanceId, bool>& chosen,
                              Side side);

}  // namespace sheaf
