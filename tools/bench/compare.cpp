#include "tools/bench/compare.h"

#include "runtime/base/file.h"

#include <cstdio>

namespace sheaf {
namespace {

constexpr const char* kMeasured[] = {"samples_per_s", "step_seconds", "bind_seconds", "peak_MiB"};
/// Whatever can explain a difference between two reports.
constexpr const char* kSettings[] = {"model",    "plan_sha256", "producer", "program", "batch", "devices", "threads",
                                     "numerics", "precision",   "cpu",      "isa",     "cores", "choices"};

double number(const Json& report, const char* name) { return report.value(name, 0.0); }

/// Seconds for a row, at a quartile; for the whole step if it has no rows.
double row_seconds(const Json& report, const char* quartile) {
  return number(report, quartile) / std::max(1.0, number(report, "batch"));
}

std::string printed(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string padded(std::string text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

}  // namespace

Result<Json> read_report(const std::string& file) {
  constexpr uint64_t kMost = 64 << 20;
  SHEAF_ASSIGN(auto text, read_file(file, kMost));
  Json report = Json::parse(text, nullptr, false);
  if (report.is_discarded()) return Error({file, 0, 0}, "is no JSON; expected what `sheaf bench --json` prints");
  const char* missing = report.is_object() ? nullptr : "object";
  for (const char* name :
       {"samples_per_s", "step_seconds", "step_seconds_q1", "step_seconds_q3", "bind_seconds", "peak_MiB", "batch"}) {
    if (!missing && !(report.contains(name) && report[name].is_number())) missing = name;
  }
  if (missing)
    return Error({file, 0, 0}, std::string("holds no \"") + missing + "\"; expected what `sheaf bench --json` prints");
  return report;
}

Json compare_reports(const std::string& old_file, const Json& old_report, const Json& new_report) {
  Json comparison = {{"old", old_file}, {"ratios", Json::object()}};
  for (const char* name : kMeasured) {
    if (number(old_report, name) > 0) comparison["ratios"][name] = number(new_report, name) / number(old_report, name);
  }
  const bool faster = row_seconds(new_report, "step_seconds_q3") < row_seconds(old_report, "step_seconds_q1");
  const bool slower = row_seconds(new_report, "step_seconds_q1") > row_seconds(old_report, "step_seconds_q3");
  comparison["verdict"] = faster ? "faster" : slower ? "slower" : "within the spread";
  comparison["differences"] = Json::array();
  for (const char* name : kSettings) {
    const Json before = old_report.value(name, Json()), now = new_report.value(name, Json());
    if (before != now) comparison["differences"].push_back({{"what", name}, {"old", before}, {"new", now}});
  }
  return comparison;
}

std::string comparison_text(const Json& comparison, const Json& old_report, const Json& new_report) {
  std::string text = "\nagainst " + comparison["old"].get<std::string>() + "\n";
  for (const auto& [name, ratio] : comparison["ratios"].items()) {
    text +=
        "  " + padded(name, 15) +
        padded(printed("%.4g", number(old_report, name.c_str())) + " → " + printed("%.4g", number(new_report, name.c_str())),
               26) +
        printed("× %.3f", ratio.get<double>()) + "\n";
  }
  const std::string verdict = comparison["verdict"];
  text +=
      "  " + verdict + (verdict == "within the spread" ? ": the quartiles overlap" : ": the quartiles don't overlap") + "\n";
  for (const Json& difference : comparison["differences"]) {
    text += "  note: they differ in " + difference["what"].get<std::string>() + ": " + difference["old"].dump() + ", now " +
            difference["new"].dump() + "\n";
  }
  return text;
}

}  // namespace sheaf
