// Two reports of `sheaf bench` side by side.
#pragma once

#include "runtime/plan/plan.h"

#include <string>

namespace sheaf {

/// Reads a report. Errors, located at the file: it can't be read, isn't JSON, or isn't a report of `sheaf bench`.
Result<Json> read_report(const std::string& file);

/// {"old": FILE, "ratios": {"samples_per_s", "step_seconds", "bind_seconds", "peak_MiB"} (new over old), "verdict": "faster" |
/// "slower" | "within the spread", "differences": [{"what", "old", "new"}]}. Two reports are within the spread if their seconds
/// for a row, from quartile to quartile, overlap. A ratio with a zero denominator is left out.
Json compare_reports(const std::string& old_file, const Json& old_report, const Json& new_report);

/// For people, one line each.
std::string comparison_text(const Json& comparison, const Json& old_report, const Json& new_report);

}  // namespace sheaf
