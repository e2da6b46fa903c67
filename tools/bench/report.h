// The results of `sheaf bench`, for programs and for people.
#pragma once

#include "tools/bench/measure.h"
#include "runtime/device/device_list.h"
#include "runtime/plan/plan.h"

#include <string>
#include <vector>

namespace sheaf {

struct BenchSubject {
  const Model& model;
  std::vector<DeviceSpec> devices;
  const DeviceSet& opened;
  int threads = 0;  ///< in all
  bool train = false, fast_numerics = false;
  std::string weights;  ///< the file they came from; empty: random
  int64_t batch = 0;
};

/// One object (docs/bench.md lists its members); flat except for "devices".
Json bench_report(const BenchSubject& subject, const MeasuredProgram& program, const Measurement& measurement);
std::string bench_text(const Json& report);

}  // namespace sheaf
