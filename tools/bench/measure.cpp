#include "tools/bench/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>

namespace sheaf {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Mean seconds of one step over `steps`. `to_the_end`: the last one is done, too.
Result<double> timed(MeasuredProgram& program, int64_t steps, bool to_the_end) {
  const auto begin = Clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    SHEAF_TRY(program.run());
  }
  if (to_the_end) SHEAF_TRY(program.finish());
  return seconds_since(begin) / static_cast<double>(steps);
}

}  // namespace

Result<Measurement> measure(MeasuredProgram& program, const MeasureOptions& options) {
  constexpr double kWarmUp = 0.1, kLeastTiming = 50e-6, kAll = 2;
  Measurement found;
  double last = 0;
  const auto begin = Clock::now();
  for (int64_t least = options.warm_up > 0 ? options.warm_up : 2;
       found.warm_up < least || (options.warm_up == 0 && seconds_since(begin) < kWarmUp);) {
    // Groups of short steps, so that the last group's time gives the length of a step.
    const int64_t group =
        last > 0 && options.warm_up == 0 ? std::clamp<int64_t>(static_cast<int64_t>(1e-3 / last), 1, 10'000) : 1;
    SHEAF_ASSIGN(last, timed(program, group, true));
    found.warm_up += group;
  }
  found.steps_each = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(kLeastTiming / std::max(last, 1e-9))));
  int64_t timings = options.steps;
  if (timings == 0)
    timings =
        std::clamp<int64_t>(static_cast<int64_t>(kAll / std::max(last * static_cast<double>(found.steps_each), 1e-6)), 5, 1000);
  std::vector<double> seconds;
  if (program.overlaps()) SHEAF_TRY(program.run());  // from here on each timing begins and ends with a step under way
  for (int64_t i = 0; i < timings; ++i) {
    SHEAF_ASSIGN(auto step, timed(program, found.steps_each, false));
    seconds.push_back(step);
  }
  SHEAF_TRY(program.finish());
  found.step = durations(std::move(seconds));
  return found;
}

size_t resident_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    size_t kibibytes = 0;
    if (word == key + ":" && file >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

}  // namespace sheaf
