// A step of op `kernel`, in the form that every backend uses.
#pragma once

#include "runtime/steps/shared_format.h"

#include <optional>
#include <string>

namespace sheaf {

/// A kernel that looks entries up in a table (along its dimension `lookup_dim`, or 0) reports the first index beyond its end:
/// output `status` of the step, an int64, stays 0 or becomes ~p, p being that index's position in input 0. Input 1: the table.
struct Lookup {
  size_t status = 0;  ///< buffer
  DType dtype = DType::int64;
  int64_t entries = 0;

  /// Why it failed: the entry at element `position` of its input.
  std::string failure(int64_t position, int64_t index) const;
};

struct KernelStep {
  const Kernel* kernel = nullptr;  ///< in the plan
  std::optional<Lookup> lookup;
  Prepared prepared;  ///< everything except the executable
};

/// A kernel over elements accepts any format that its operands share without padding; everything else is plain. The step's
/// attributes: `in_place`, pairs [input, output] that may share a buffer; `status`, the output (one int64) in which a table
/// lookup reports an out-of-range index, which makes the run fail. Errors: a kernel that isn't in the plan, too few
/// extents, an invalid `status`.
Result<KernelStep> prepare_kernel_step(const PrepareRequest& request, SameLayout same_layout);

}  // namespace sheaf
