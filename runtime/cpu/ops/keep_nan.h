// Keeps NaN as in PyTorch: oneDNN's ReLU, clip and max pooling turn it into a number, because the processor's maximum of NaN
// and a number is the number.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// `prepared`, which `prepare` made of `operation`, changed to keep NaN; unchanged if nothing cuts it (Operation::nan_cut).
///
/// Cutting NaN raises the CPU's flag of invalid operations (runtime/machine/invalid_flag.h). If that is down after a run,
/// there was no NaN, and the run costs nothing more. If it is up, the operation finds out which results are NaN, which
/// takes as long again, and memory: if there is none, the run fails and says so. For a product it computes it without its
/// activation, for a maximum that of marks, for a batch norm it uses the statistics, for an RNN its definition.
Prepared keep_nan(const Operation& operation, Prepared prepared, Prepared (*prepare)(const Operation&));

}  // namespace sheaf
