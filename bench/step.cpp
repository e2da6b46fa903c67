// Times calls of a plan, or its training steps, through the C++ interface.
//
//   bench-step PLAN --devices LIST --batch N [--program infer|train] [--numerics strict|fast] [--threads N]
//              [--data NAME=SOURCE...] [--turns | --profile]
//
// Prints one line of JSON: bytes, and the seconds of binding. Then, without --turns, a line of JSON with the seconds of
// one call (the best of several rounds, each long enough to time). With --turns it times one call for each line on
// stdin and prints its seconds and the CPU seconds that the process took for it, so that another program can take turns
// on the same machine; on a busy one, CPU seconds with --threads 1 are what compares. --profile prints instead the
// milliseconds of each operation's fastest run among some calls, their sums, and the fastest call's. Models that print
// are not for it.
#include "bound_program.h"
#include "profile.h"
#include "runtime/bind/binding.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/named_sources.h"
#include "runtime/options.h"
#include "runtime/report.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>

namespace {

using namespace sheaf;
using Clock = std::chrono::steady_clock;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// A line of /proc/self/status in bytes: "VmHWM" is the most memory that the process has had, "RssAnon" what it has now
/// without the files that it has mapped, which are libraries' code. 0 where there is no such line.
size_t resident_bytes(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    size_t kibibytes = 0;
    if (word == key + ":" && file >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

OptionParser step_options() {
  OptionParser parser("bench-step", "Times calls of a compiled plan, or its training steps.");
  parser.positional("PLAN", "a file that `sheaf compile` wrote")
      .option("--devices", "LIST", "devices: cpu:0,cpu:1 or cpu:0-3; cpu alone: everything on the host")
      .required()
      .option("--batch", "N", "rows of a call")
      .required()
      .option("--program", "NAME", "what is timed")
      .choices({"infer", "train"})
      .option("--numerics", "KIND", "arithmetic")
      .choices({"strict", "fast"})
      .option("--threads", "N", "CPU threads in all (default 0: all that the process may use)")
      .option("--data", "NAME=SOURCE", "rows of an input or a target (default random:N)")
      .repeatable()
      .flag("--turns", "time one call for each line on stdin")
      .flag("--profile", "where the time goes");
  return parser;
}

/// What binding says will be used, and what is: beyond the memory that the process had before it made parameters. Arenas
/// stay as long as their binding, so what is there after two calls is what they took.
void print_memory(const Model& model, const bench::BoundProgram& bound, size_t before) {
  size_t arena = 0, bound_below = 0, state = 0;
  for (const LaneInfo& lane : bound.info().lanes) {
    arena += lane.arena_bytes;
    bound_below += lane.arena_bound;
  }
  for (const Parameter& entry : model.plan().state) state += plain_tensor(entry.dtype, entry.shape).bytes;
  const size_t parameters = bound.info().parameter_bytes, derived = bound.info().derived_bytes;
  const size_t now = resident_bytes("RssAnon");
  std::cout << "{\"bind_seconds\": " << bound.bind_seconds() << ", \"arena_bytes\": " << arena
            << ", \"arena_bound\": " << bound_below << ", \"parameter_bytes\": " << parameters
            << ", \"derived_bytes\": " << derived << ", \"state_bytes\": " << state
            << ", \"data_bytes\": " << bound.data_bytes()
            << ", \"predicted_bytes\": " << arena + parameters + derived + state + bound.data_bytes()
            << ", \"used_bytes\": " << now - std::min(before, now)
            << ", \"peak_bytes\": " << resident_bytes("VmHWM") << "}" << std::endl;
}

int measure(const Options& options) {
  auto list = parse_devices(options.value("--devices"));
  if (!list) return report(list.error(), kUsage);
  auto batch = options.integer("--batch", 0, int64_t{1} << 40, 0);
  if (!batch) return report(batch.error(), kUsage);
  auto threads = options.integer("--threads", 0, 4096, 0);
  if (!threads) return report(threads.error(), kUsage);
  auto sources = named_sources("--data", options.values("--data"));
  if (!sources) return report(sources.error(), kUsage);

  auto model = Model::load(options.value("PLAN"));
  if (!model) return report(model.error(), kFailed);
  const size_t before = resident_bytes("RssAnon");
  if (auto done = model->initialise_parameters(1); !done) return report(done.error(), kFailed);
  const bool profile = options.has("--profile");
  bench::ProfiledDevices profiled;
  const int profiled_threads = *threads > 0 ? static_cast<int>(*threads) : available_cpus();
  auto devices = profile ? bench::profiled_devices(*list, profiled_threads, profiled)
                         : open_devices(*list, static_cast<int>(*threads));
  if (!devices) return report(devices.error(), kFailed);
  bench::BoundProgramRequest request;
  request.train = options.value("--program") == "train";
  request.batch = *batch;
  request.sources = std::move(*sources);
  request.options.fast_numerics = options.value("--numerics") == "fast";
  auto bound = bench::BoundProgram::bind(*model, std::make_shared<const DeviceSet>(std::move(*devices)), request);
  if (!bound) return report(bound.error(), kFailed);

  const auto timed = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) {
      if (auto done = bound->run(); !done) std::exit(report(done.error(), kFailed));
    }
    return std::chrono::duration<double>(Clock::now() - start).count() / calls;
  };
  const auto best_of = [&](int rounds, int calls) {
    double best = timed(calls);
    for (int round = 1; round < rounds; ++round) best = std::min(best, timed(calls));
    return best;
  };
  timed(2);
  print_memory(*model, *bound, before);
  if (options.has("--turns")) {
    for (std::string line; std::getline(std::cin, line);) {
      const double cpu = cpu_seconds();
      const double wall = timed(1);
      std::cout << wall << " " << cpu_seconds() - cpu << std::endl;
    }
    return kDone;
  }
  if (profile) {
    for (const auto& device : profiled) device->reset();
    print_profile(std::cout, profiled, best_of(7, 1));
    return kDone;
  }
  const int calls = std::clamp(static_cast<int>(0.05 / timed(3)), 1, 100'000);
  const double best = best_of(11, calls);
  std::cout << "{\"step_seconds\": " << best << ", \"samples_per_s\": " << static_cast<double>(*batch) / best << "}" << std::endl;
  return kDone;
}

}  // namespace

int main(int argc, char** argv) {
  const OptionParser parser = step_options();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  auto options = parser.parse(arguments);
  if (!options) return report(options.error(), kUsage);
  if (options->help()) {
    const std::string help = parser.help(), verb_of = "sheaf ";  // the parser takes each program for a verb of that one
    std::cout << std::string(help).erase(help.find(verb_of), verb_of.size());
    return kDone;
  }
  return measure(*options);
}
