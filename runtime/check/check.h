// The whole check of a plan, before a device is touched.
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// Limits that keep all arithmetic on sizes within 64 bits.
inline constexpr int64_t kLargestDim = int64_t{1} << 40;    ///< of a dimension
inline constexpr int64_t kLargestBytes = int64_t{1} << 60;  ///< of a value
inline constexpr int kLargestRank = 12;                     ///< oneDNN's limit

/// Checks everything that a run relies on and that doesn't depend on the batch or the device list: names and
/// index ranges; that each value is made exactly once, before its uses; places; every operation's roles,
/// attributes and shapes (docs/steps.md); symbols; kernels; bounds on sizes. Program `infer` must be present,
/// `train` may be; only that has settings, optimiser state and updates (docs/training.md). `infer_graph` and
/// `train_graph` may be empty; their layers' attributes are PyTorch's and are not checked, their structure,
/// places and data movement are. The first problem found is the error, located by `file` and JSON path.
Result<void> check(const Plan& plan, const std::string& file = {});

}  // namespace sheaf
