// The functions that prepare the CPU's operations: prepare_max_pool() for the library operation max_pool, and so on. They throw
// OperationError (runtime/steps/step_operands.h).
#pragma once

#include "runtime/cpu/ops/operation.h"
#include "runtime/plan/op_list.h"

namespace sheaf {

#define SHEAF_CPU_OPS(row) SHEAF_LIBRARY_OPS(row) row(reduce) row(check_finite)

#define SHEAF_PREPARE(name) Prepared prepare_##name(const Operation& operation);
SHEAF_CPU_OPS(SHEAF_PREPARE)
#undef SHEAF_PREPARE

}  // namespace sheaf
