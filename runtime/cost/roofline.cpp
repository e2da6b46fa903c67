#include "runtime/cost/roofline.h"

#include <algorithm>

namespace sheaf {

const char* name_of(Bound bound) {
  switch (bound) {
    case Bound::compute: return "compute";
    case Bound::memory: return "memory";
    case Bound::overhead: return "overhead";
  }
  return "";
}

double compute_seconds(const Roofline& roofline, const Cost& cost) {
  const double arithmetic = cost.instructions > 0 ? cost.instructions : cost.flops;
  return roofline.flops_per_second > 0 ? arithmetic / roofline.flops_per_second : 0;
}

namespace {

struct Parts {
  double compute, memory;
};

Parts parts(const Roofline& roofline, const Cost& cost) {
  return {compute_seconds(roofline, cost), roofline.bytes_per_second > 0 ? cost.bytes() / roofline.bytes_per_second : 0};
}

}  // namespace

double seconds(const Roofline& roofline, const Cost& cost) {
  const Parts part = parts(roofline, cost);
  return roofline.seconds_per_operation + std::max(part.compute, part.memory);
}

Bound bound_by(const Roofline& roofline, const Cost& cost) {
  const Parts part = parts(roofline, cost);
  if (roofline.seconds_per_operation >= std::max(part.compute, part.memory)) return Bound::overhead;
  return part.compute >= part.memory ? Bound::compute : Bound::memory;
}

}  // namespace sheaf
