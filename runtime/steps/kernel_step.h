// A step of op `kernel` as every backend sees it.
#pragma once

#include "runtime/steps/shared_format.h"

#include <optional>
#include <string>

namespace sheaf {

/// A kernel that looks entries up in a table (along its dimension `lookup_dim`, or 0) reports the first index beyond its end: output `status` of the step, an
/// int64, stays 0 or becomes ~p, p being the position of that index in input 0. Input 1 is the table.
struct Lookup {
  size_t status = 0;  ///< buffer
  DType dtype = DType::int64;
  int64_t entries = 0;

  /// Why it failed: what it found at element `position` of its input.
  std::string failure(int64_t position, int64_t index) const;
};

struct KernelStep {
  const Kernel* kernel = nullptr;  ///< in the plan
  std::optional<Lookup> lookup;
  Prepared prepared;  ///< all but the executable
};

/// A kernel over elements takes any format that its operands share without padding; all else is plain. The step's
/// attributes: `in_place`, pairs [input, output] that may share a buffer; `status`, the output (one int64) in which a table
/// lookup reports an index that is out of range, which makes the run fail. Errors: a kernel that isn't in the plan, too few
/// extents, a `status` that is none.
Result<KernelStep> prepare_kernel_step(const PrepareRequest& request, SameLayout same_layout);

}  // namespace sheaf
