// NaN where PyTorch has it: oneDNN's ReLU, clip and max pooling give a number for it, as the maximum of NaN and a number
// is the number to the processor.
#pragma once

#include "runtime/cpu/ops/operation.h"

namespace sheaf {

/// `prepared`, which `prepare` made of `request`, so that NaN is kept; as it is where the operation keeps NaN anyway.
///
/// A product with an activation: in runs on data that isn't finite (runtime/steps/non_finite.h) the same product without
/// it tells where results are NaN. That misses NaN that arises within the network from numbers too large for float32.
/// A maximum over windows looks at its input, a batch norm with ReLU at its statistics: these are cheap.
Prepared keep_nan(const PrepareRequest& request, Prepared prepared, Prepared (*prepare)(const Operation&));

}  // namespace sheaf
