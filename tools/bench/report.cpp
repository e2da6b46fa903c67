#include "tools/bench/report.h"

#include "runtime/base/version.h"
#include "runtime/bind/binding.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "tools/train/display.h"

#include <cmath>
#include <cstdio>

namespace sheaf {
namespace {

template <typename... Values>
std::string printed(const char* format, Values... values) {
  char text[160];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Four digits; for larger numbers, all digits before the point.
std::string number(double value) { return printed(value < 1000 ? "%.4g" : "%.0f", value); }

std::string list_text(const Json& devices) {
  std::string text;
  for (const Json& device : devices) text += (text.empty() ? "" : ",") + device.get<std::string>();
  return text;
}

}  // namespace

Json bench_report(const BenchSubject& subject, const MeasuredProgram& program, const Measurement& measurement) {
  const Plan& plan = subject.model.plan();
  const DeviceInfo& cpu = cpu_device()->info();
  size_t arenas = 0;
  for (const LaneInfo& lane : program.info().lanes) arenas += lane.arena_bytes;
  Json devices = Json::array();
  for (const DeviceSpec& device : subject.devices) devices.push_back(to_string(device));
  if (devices.empty()) devices.push_back("cpu");
  Json hardware = Json::object();
  for (int entry = 0; entry < subject.opened.entries(); ++entry)
    hardware[subject.opened.entry_name(entry)] = log_entry(subject.opened.device(subject.opened.lane_of_entry(entry)));
  if (subject.opened.host_only()) hardware["cpu"] = log_entry(subject.opened.host());
  const Durations& step = measurement.step;
  const auto mib = [](size_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  return {{"model", plan.name},
          {"program", subject.train ? "train" : "infer"},
          {"batch", subject.batch},
          {"devices", std::move(devices)},
          {"hardware", std::move(hardware)},
          {"threads", subject.threads},
          {"numerics", subject.fast_numerics ? "fast" : "strict"},
          {"choices", program.info().choices},
          {"precision", plan.precision},
          {"weights", subject.weights.empty() ? "random" : subject.weights},
          {"producer", plan.producer},
          {"plan_sha256", sha256(serialize(plan))},
          {"version", version()},
          {"cpu", cpu.model},
          {"isa", cpu.isa},
          {"cores", cpu.cores},
          {"steps", step.count},
          {"steps_each", measurement.steps_each},
          {"warm_up_steps", measurement.warm_up},
          {"samples_per_s", static_cast<double>(subject.batch) / step.median},
          {"step_seconds", step.median},
          {"step_seconds_min", step.least},
          {"step_seconds_q1", step.lower_quartile},
          {"step_seconds_q3", step.upper_quartile},
          {"step_seconds_p95", step.p95},
          {"step_seconds_p99", step.p99},
          {"step_seconds_max", step.most},
          {"bind_seconds", program.bind_seconds()},
          {"arena_MiB", mib(arenas)},
          {"peak_MiB", mib(resident_bytes("VmHWM"))}};
}

std::string bench_text(const Json& report) {
  const double median = report["step_seconds"];
  const double unit = median < 1e-3 ? 1e6 : median < 1 ? 1e3 : 1;
  const char* name = median < 1e-3 ? "µs" : median < 1 ? "ms" : "s";
  const auto in_unit = [&](const char* member) { return number(report[member].get<double>() * unit); };
  const int64_t threads = report["threads"], steps = report["steps"];
  std::string text =
      report["model"].get<std::string>() + ", " + (report["program"] == "train" ? "training step" : "inference") + ", batch " +
      report["batch"].dump() + ", on " + list_text(report["devices"]) + ", " + std::to_string(threads) +
      (threads == 1 ? " thread, " : " threads, ") + report["numerics"].get<std::string>() + " " +
      report["precision"].get<std::string>() +
      (report["choices"] == "" ? "" : ", implementations measured (" + report["choices"].get<std::string>() + ")") + "\n";
  text += "  step     " + in_unit("step_seconds") + " " + name + ", median of " + std::to_string(steps) + "; quartiles " +
          in_unit("step_seconds_q1") + " to " + in_unit("step_seconds_q3") + ", fastest " + in_unit("step_seconds_min") +
          ", slowest " + in_unit("step_seconds_max") + "\n";
  text += "  tail     95% within " + in_unit("step_seconds_p95") + ", 99% within " + in_unit("step_seconds_p99") + " " + name +
          "\n";
  const double rate = report["samples_per_s"];
  text += "  rate     " + (rate < 1000 ? number(rate) : with_thousands(std::llround(rate))) + " samples/s\n";
  text += printed("  binding  %.3g s\n", report["bind_seconds"].get<double>());
  return text + printed("  memory   %.0f MiB at most, of them %.1f MiB in arenas\n", report["peak_MiB"].get<double>(),
                        report["arena_MiB"].get<double>());
}

}  // namespace sheaf
