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

namespace {

struct Parts {
  double compute, memory;
};

Parts parts(const Roofline& roofline, const Cost& cost) {
  return {roofline.flops_per_second > 0 ? cost.flops / roofline.flops_per_second : 0,
          roofline.bytes_per_second > 0 ? cost.bytes() / roofline.bytes_per_second : 0};
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

Roofline default_roofline(const DeviceInfo& device, int threads) {
  if (device.kind != DeviceKind::cpu) return {50e12, 1.5e12, 5e-6};
  const double cores = std::max(1, std::min(threads, device.cores));
  // Two fused multiply-adds a cycle: of 16 floats with AVX-512, of 8 with AVX2; at 4 GHz. Few machines do better.
  const double per_cycle = device.isa == "x86-64-v4" ? 64 : 32;
  return {cores * per_cycle * 4e9, std::min(cores * 40e9, 400e9), 0.3e-6};
}

}  // namespace sheaf
