// A bound program's steps, timed.
#pragma once

#include "tools/bench/measured_program.h"
#include "tools/bench/statistics.h"

#include <cstdint>
#include <string>

namespace sheaf {

struct MeasureOptions {
  int64_t steps = 0;    ///< timings; 0: as many as fit into two seconds, from 5 to 1000
  int64_t warm_up = 0;  ///< untimed steps before them; 0: two, or as many as fit into a tenth of a second
};

struct Measurement {
  Durations step;          ///< seconds of one step
  int64_t warm_up = 0;     ///< untimed steps before
  int64_t steps_each = 1;  ///< of a timing: steps shorter than 50 µs are timed several at once
};

/// Errors: those of MeasuredProgram::run.
Result<Measurement> measure(MeasuredProgram& program, const MeasureOptions& options);

/// A line of /proc/self/status in bytes: "VmHWM" is the most memory the process has had, "RssAnon" what it has now without
/// mapped files, which are libraries' code. 0 if there is no such line.
size_t resident_bytes(const std::string& key);

}  // namespace sheaf
