// Moves instances to the front or the end, equal kernels side by side: many small launches become few (Device::merge).
#pragma once

#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

namespace sheaf {

/// The kernel of an instance; empty if it has none.
const std::string& kernel_of(const BoundProgram& program, const BindContext& context, InstanceId instance);

enum class Side : uint8_t { first, last };

/// Puts the `chosen` instances first or last: each after those of them that it reads; among those that can be adjacent, equal
/// kernels side by side. Errors: those of rearrange().
Result<void> put_side_by_side(BoundProgram& program, const BindContext& context, const IdVector<InstanceId, bool>& chosen,
                              Side side);

}  // namespace sheaf
