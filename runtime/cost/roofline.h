// A device's best rates: how fast it computes, reads and writes, and starts an operation (Williams, Waterman
// and Patterson, "Roofline", CACM 52(4), 2009).
#pragma once

#include "runtime/cost/cost.h"

namespace sheaf {

struct Roofline {
  double flops_per_second = 0;       ///< of the operation; of a generated kernel, its instructions (Cost)
  double bytes_per_second = 0;       ///< of memory, reads and writes together
  double seconds_per_operation = 0;  ///< overhead of starting one
};

/// The roofline's limit for an operation.
enum class Bound { compute, memory, overhead };
const char* name_of(Bound bound);

/// The least time that its arithmetic takes.
double compute_seconds(const Roofline& roofline, const Cost& cost);
/// The least time that `cost` takes: overhead plus the larger of its arithmetic and its traffic.
double seconds(const Roofline& roofline, const Cost& cost);
/// Which of the three is the largest part of it.
Bound bound_by(const Roofline& roofline, const Cost& cost);

}  // namespace sheaf
