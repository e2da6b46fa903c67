// A bound program's steps, timed.
#pragma once

#include "tools/bench/measured_program.h"
#include "tools/bench/statistics.h"

#include <cstdint>
#include <string>

namespace sheaf {

struct MeasureOptions {
  int64_t steps = 0;    ///< timings; 0: as many as two seconds hold, from 5 to 1000
  int64_t warm_up = 0;  ///< steps before them; 0: two, or as many as a tenth of a second holds
};

struct Measurement {
  Durations step;          ///< seconds of one step
  int64_t warm_up = 0;     ///< steps made before
  int64_t steps_each = 1;  ///< of a timing: a step that is over in less than 50 µs is timed several times over
};

/// Errors: those of MeasuredProgram::run.
Result<Measurement> measure(MeasuredProgram& program, const MeasureOptions& options);

/// A line of /proc/self/status in bytes: "VmHWM" is the most memory that the process has had, "RssAnon" what it has now
/// without the files that it has mapped, which are libraries' code. 0 where there is no such line.
size_t resident_bytes(const std::string& key);

}  // namespace sheaf
