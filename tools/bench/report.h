// What `sheaf bench` found, for programs and for people.
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
  int threads = 0;  ///< in all
  bool train = false, fast_numerics = false;
  std::string weights;  ///< the file that they came from; empty: drawn
  int64_t batch = 0;
};

/// One object (docs/bench.md has its members); flat but for "devices".
Json bench_report(const BenchSubject& subject, const MeasuredProgram& program, const Measurement& measurement);
std::string bench_text(const Json& report);

}  // namespace sheaf
