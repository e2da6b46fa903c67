// Steps of a plan for bench/run.py, which lets programs take turns on one machine; `sheaf bench` is the verb for people.
//
//   bench-step PLAN --devices LIST --batch N [--program infer|train] [--numerics strict|fast] [--threads N]
//              [--data NAME=SOURCE...] [--turns | --profile]
//
// Prints one line of JSON: bytes, and the seconds of binding. With --turns it then times a call for each line on
// stdin (the mean of as many as take a twentieth of a second, from the first one's start to the last one's end) and prints its
// seconds and the CPU seconds that the process took for it, so that another program can take turns on the same machine; on a busy
// one, CPU seconds with --threads 1 are what compares. --profile prints each operation's time and the sums of them (runtime/trace).
#include "runtime/session/open_devices.h"
#include "tools/bench/measure.h"
#include "runtime/bind/binding.h"
#include "runtime/device/device_set.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"
#include "tools/cli/print_profile.h"
#include "sheaf/trace.h"
#include "runtime/training/optimizer_state.h"
#include "sheaf/trainer.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>

namespace {

using namespace sheaf;
using Clock = std::chrono::steady_clock;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

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
      .flag("--turns", "time a call for each line on stdin")
      .flag("--profile", "where the time goes");
  return parser;
}

/// The memory that binding says will be used, and the memory that is used beyond what the process had before it made
/// parameters. Arenas stay as long as their binding, so the difference after two calls is what they took.
void print_memory(const Model& model, const MeasuredProgram& bound, size_t before) {
  size_t arena = 0, bound_below = 0, state = 0;
  for (const LaneInfo& lane : bound.info().lanes) {
    arena += lane.arena_bytes;
    bound_below += lane.arena_bound;
  }
  for (const Parameter& entry : lasting_state(model.plan())) state += plain_tensor(entry.dtype, entry.shape).bytes;
  const size_t parameters = bound.info().parameter_bytes, derived = bound.info().derived_bytes;
  const size_t now = resident_bytes("RssAnon");
  std::cout << "{\"bind_seconds\": " << bound.bind_seconds() << ", \"arena_bytes\": " << arena
            << ", \"arena_bound\": " << bound_below << ", \"parameter_bytes\": " << parameters
            << ", \"derived_bytes\": " << derived << ", \"state_bytes\": " << state
            << ", \"data_bytes\": " << bound.data_bytes()
            << ", \"predicted_bytes\": " << arena + parameters + derived + state + bound.data_bytes()
            << ", \"used_bytes\": " << now - std::min(before, now) << ", \"peak_bytes\": " << resident_bytes("VmHWM") << "}"
            << std::endl;
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
  auto devices = open_devices(*list, static_cast<int>(*threads));
  if (!devices) return report(devices.error(), kFailed);
  MeasuredProgramRequest request;
  request.train = options.value("--program") == "train";
  request.batch = *batch;
  request.sources = std::move(*sources);
  request.options.fast_numerics = options.value("--numerics") == "fast";
  auto bound = MeasuredProgram::bind(*model, std::make_shared<const DeviceSet>(std::move(*devices)), request);
  if (!bound) return report(bound.error(), kFailed);

  const auto check = [](const Result<void>& done) {
    if (!done) std::exit(report(done.error(), kFailed));
  };
  const auto step = [&](const std::shared_ptr<Trace>& trace = nullptr) { check(bound->run(trace)); };
  step();
  step();
  check(bound->finish());
  print_memory(*model, *bound, before);
  if (options.has("--profile")) {
    constexpr int kSteps = 9;
    const auto trace = std::make_shared<Trace>();
    for (int i = 0; i < kSteps; ++i) step(trace);
    std::cout << profile_text(trace->profiles().front(), true);
    return kDone;
  }
  int64_t calls = 0;
  for (const auto end = Clock::now() + std::chrono::milliseconds(50); calls == 0 || Clock::now() < end; ++calls) step();
  check(bound->finish());
  for (std::string line; options.has("--turns") && std::getline(std::cin, line);) {
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) step();
    check(bound->finish());
    std::cout << std::chrono::duration<double>(Clock::now() - start).count() / double(calls) << " "
              << (cpu_seconds() - cpu) / double(calls) << std::endl;
  }
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
