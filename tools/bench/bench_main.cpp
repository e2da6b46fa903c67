#include "tools/bench/bench_main.h"

#include "runtime/base/file.h"
#include "runtime/check/reader.h"
#include "runtime/session/open_devices.h"
#include "tools/bench/compare.h"
#include "tools/bench/report.h"
#include "runtime/device/device_set.h"
#include "runtime/machine/thread_pool.h"
#include "tools/estimate/calibrate.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/report.h"
#include "tools/cli/print_profile.h"
#include "tools/cli/trace_options.h"

#include <algorithm>
#include <optional>

namespace sheaf {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

/// The command line, read and checked.
struct BenchSettings {
  std::string plan, weights, compare, output;
  LengthNumbers lengths;
  std::vector<DeviceSpec> devices;
  MeasuredProgramRequest program;
  MeasureOptions measure;
  int64_t seed = 0;
  TraceRequest trace;
  bool json = false;
};

Result<BenchSettings> bench_settings(const Options& options) {
  SHEAF_TRY(TraceRequest::check(options));
  BenchSettings settings;
  SHEAF_ASSIGN(auto devices, parse_devices(options.value("--devices")));
  settings.devices = std::move(devices);
  int64_t threads = 0;
  const struct {
    const char* name;
    int64_t* value;
    int64_t least, most;
  } numbers[] = {{"--batch", &settings.program.batch, 1, kMost},
                 {"--steps", &settings.measure.steps, 1, 10'000'000},
                 {"--warm-up", &settings.measure.warm_up, 1, kMost},
                 {"--threads", &threads, 1, 4096},
                 {"--seed", &settings.seed, 0, INT64_MAX}};
  for (const auto& entry : numbers) {
    SHEAF_ASSIGN(auto value, options.integer(entry.name, entry.least, entry.most, *entry.value));
    *entry.value = value;
  }
  SHEAF_ASSIGN(auto sources, named_sources("--data", options.values("--data")));
  settings.program.sources = std::move(sources);
  SHEAF_ASSIGN(settings.lengths, lengths_of_options(options));
  SHEAF_ASSIGN(settings.program.options, bind_options(options));
  settings.program.options.threads = threads > 0 ? static_cast<int>(threads) : available_cpus();
  settings.program.train = options.value("--program") == "train";
  settings.plan = options.value("PLAN");
  settings.weights = options.value("--weights");
  settings.compare = options.value("--compare");
  settings.output = options.value("-o");
  settings.trace = TraceRequest(options);
  settings.json = options.has("--json");
  return settings;
}

/// Runs some more steps with operations timed: the measured steps are not traced.
Result<std::shared_ptr<Trace>> traced(MeasuredProgram& program, const TraceRequest& request, const Measurement& measurement) {
  auto trace = request.open();
  if (!trace || !*trace) return trace;
  constexpr size_t kMostSteps = 25;
  for (size_t i = 0; i < std::min(measurement.step.count, kMostSteps); ++i) {
    SHEAF_TRY(program.run(*trace));
  }
  return trace;
}

Result<void> bench(const BenchSettings& settings) {
  std::optional<Json> before;
  if (!settings.compare.empty()) {
    SHEAF_ASSIGN(before, read_report(settings.compare));
  }
  for (const std::string* file : {&settings.output, &settings.trace.file}) {
    SHEAF_TRY(check_output(*file));
  }
  SHEAF_ASSIGN(auto plan, load_plan(settings.plan));
  SHEAF_ASSIGN(plan, sized(std::move(plan), settings.lengths, settings.program.sources));
  SHEAF_ASSIGN(auto model, Model::from_plan(std::move(plan)));
  auto weights = settings.weights.empty() ? model.initialise_parameters(static_cast<uint64_t>(settings.seed))
                                          : load_weights(model, settings.weights);
  if (!weights) return weights;
  SHEAF_ASSIGN(auto opened, open_devices(settings.devices, settings.program.options.threads, settings.program.options.shards));
  const auto devices = std::make_shared<const DeviceSet>(std::move(opened));
  SHEAF_ASSIGN(auto program, MeasuredProgram::bind(model, devices, settings.program));
  SHEAF_ASSIGN(auto measurement, measure(program, settings.measure));
  const BenchSubject subject{model,
                             settings.devices,
                             *devices,
                             settings.program.options.threads,
                             settings.program.train,
                             settings.program.options.fast_numerics,
                             settings.weights,
                             settings.program.batch};
  Json report = bench_report(subject, program, measurement);
  SHEAF_ASSIGN(auto trace, traced(program, settings.trace, measurement));
  if (settings.trace.profile) report["profile"] = profile_json(trace->profiles().front());

  std::string text = bench_text(report);
  if (before) {
    report["compared"] = compare_reports(settings.compare, *before, report);
    text += comparison_text(report["compared"], *before, report);
  }
  if (!settings.output.empty()) {
    SHEAF_TRY(write_file_atomically(settings.output, report.dump(2) + "\n"));
  }
  std::fputs((settings.json ? report.dump(2) + "\n" : text).c_str(), stdout);
  TraceRequest rest = settings.trace;
  rest.profile &= !settings.json;  // it is part of the object
  if (rest.profile) std::fputs("\n", stdout);
  return rest.finish(trace.get());
}

/// --calibrate: to FILE, or to stdout if that is "".
Result<void> measure_devices(const std::string& file) {
  SHEAF_TRY(check_output(file));
  SHEAF_ASSIGN(auto devices, calibrate());
  const std::string text = devices_text(devices);
  if (!file.empty()) return write_file_atomically(file, text);
  std::fputs(text.c_str(), stdout);
  return {};
}

}  // namespace

OptionParser bench_options() {
  OptionParser parser("bench", "Times a plan's inference or training step, with its data in host memory.");
  parser.optional_positional("PLAN", "a file that `sheaf compile` wrote")
      .file(FileUse::input)
      .add(devices_option)
      .add(shards_option)
      .option("--batch", "N", "rows of a step")
      .also("--batch-size")
      .add(length_option)
      .option("--program", "NAME", "what to time")
      .choices({"infer", "train"})
      .option("--steps", "K", "how many steps to time (default: as many as fit in two seconds, from 5 to 1000)")
      .option("--warm-up", "N", "steps before them (default: at least two, and a tenth of a second)")
      .add(numerics_option)
      .add(tune_option)
      .option("--threads", "N", "total CPU threads, divided among the CPU devices (default: all that the process may use)")
      .add(weights_option)
      .option("--data", "NAME=SOURCE", "rows of an input or target, N of them (default: random:N)")
      .file(FileUse::source)
      .repeatable()
      .add(seed_option)
      .flag("--json", "print one JSON object")
      .option("-o", "FILE", "write that object to a file")
      .writes({".json"})
      .option("--compare", "OLD.json", "compare with an earlier object: ratios, and whether they are within the spread")
      .file(FileUse::input);
  parser
      .flag("--calibrate", "measure the machine instead, for --describe (half a minute; no PLAN; -o FILE writes it to a file)")
      .add(execution_options)
      .add(bytes_option)
      .add(add_trace_options)
      .example("the speed, and a comparison with an earlier run",
               {"sheaf compile models/tutorial.json -o tutorial.plan",
                "sheaf bench tutorial.plan --devices cpu:0,cpu:1 --batch 30 --steps 20 -o before.json",
                "sheaf bench tutorial.plan --devices cpu:0,cpu:1 --batch 30 --steps 20 --compare before.json"});
  return parser;
}

int bench_verb(std::span<const std::string> arguments) {
  const OptionParser parser = bench_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "bench");
  if (options->help()) return print_help(parser);
  if (options->has("--calibrate")) {
    for (const char* name : {"PLAN", "--devices", "--batch", "--compare", "--json"}) {
      if (options->has(name))
        return report_usage(Error(std::string("--calibrate measures the machine: it takes no ") + name), "bench");
    }
    auto done = measure_devices(options->value("-o"));
    return done ? finish_stdout() : report(done.error(), kFailed);
  }
  for (const char* name : {"PLAN", "--devices", "--batch"}) {
    if (!options->has(name)) return report_usage(Error(std::string(name) + " is missing"), "bench");
  }
  auto settings = bench_settings(*options);
  if (!settings) return report_usage(std::move(settings.error()), "bench");
  if (auto done = bench(*settings); !done) return report(done.error(), kFailed);
  return finish_stdout();
}

}  // namespace sheaf
