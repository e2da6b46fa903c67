// NaN where PyTorch has it: oneDNN's ReLU, clip and max pooling give a number for it, as the maximum of NaN and a number
// is the number to the processor.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// `prepared`, which `prepare` made of `operation`, changed to keep NaN; unchanged if nothing cuts it (Operation::nan_cut).
///
/// What cuts NaN raises the CPU's flag of invalid operations (runtime/machine/invalid_flag.h). Where that is down after a run,
/// there was no NaN, and that is all that a run costs. Where it is up, the operation finds out which results are NaN, which
/// takes as long again, and memory: if there is none, the run fails and says so. A product tells by being made without its
/// activation, a maximum by being taken of marks, a batch norm by its statistics, an RNN by its definition.
Prepared keep_nan(const Operation& operation, Prepared prepared, Prepared (*prepare)(const Operation&));

}  // namespace sheaf
