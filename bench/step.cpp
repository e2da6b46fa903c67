// Times steps of a plan through the C++ interface.
//
//   bench-step PLAN DEVICES BATCH [strict|fast] [threads=N] [--turns | --profile]
//
// Prints one line of JSON: memory and bind time. Then, without --turns, a line with the seconds of one call (the best
// of several rounds, each long enough to time). With --turns it times one call for each line on stdin and prints
// its seconds and the CPU seconds that the process took for it, so that another program can take turns on the same
// machine; on a busy one, CPU seconds with threads=1 are what compares. --profile prints instead the milliseconds
// of each operation's fastest run among some calls, and of the fastest call. Models that print are not for it.
#include "profile.h"
#include "runtime/bind/binding.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/cpu/thread_pool.h"
#include "runtime/sheaf.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iomanip>
#include <iostream>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

int fail(const sheaf::Error& error) {
  std::cerr << sheaf::to_string(error);
  return 1;
}

size_t bytes_of(sheaf::DType dtype, const std::vector<int64_t>& shape) {
  size_t bytes = sheaf::size_of(dtype);
  for (int64_t size : shape) bytes *= static_cast<size_t>(size);
  return bytes;
}

/// Zeros for integers, so that they are valid indices; for floats numbers of ordinary size, as a denormal or a
/// constant input may be faster or slower than real ones.
std::vector<char> input_of(sheaf::DType dtype, const std::vector<int64_t>& shape) {
  std::vector<char> bytes(bytes_of(dtype, shape));
  if (dtype == sheaf::DType::float32) {
    auto* values = reinterpret_cast<float*>(bytes.data());
    uint32_t state = 1;
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      state = state * 1664525u + 1013904223u;
      values[i] = static_cast<float>(state >> 8) / (1 << 23) - 1.0f;
    }
  }
  return bytes;
}

/// The list's devices, each lane's timed by a device of its own; those are added to `profiled`.
sheaf::Result<sheaf::DeviceSet> profiled_devices(const std::string& list, int threads,
                                                 std::vector<std::shared_ptr<sheaf::bench::ProfiledDevice>>& profiled) {
  const auto open = [&] {
    return profiled.emplace_back(std::make_shared<sheaf::bench::ProfiledDevice>(sheaf::cpu_device()));
  };
  auto specs = sheaf::parse_devices(list);
  if (!specs) return specs.error();
  const auto host = open();
  const bool host_only = sheaf::is_host_only(*specs);
  std::vector<std::shared_ptr<sheaf::Device>> entries;
  std::vector<std::string> names;
  for (const sheaf::DeviceSpec& spec : *specs) {
    if (host_only) break;  // the host serves for all
    if (spec.kind != sheaf::DeviceKind::cpu) return sheaf::Error("--profile takes CPU devices only");
    entries.push_back(specs->size() == 1 ? host : open());
    names.push_back(sheaf::to_string(spec));
  }
  return sheaf::DeviceSet(host, std::move(entries), std::move(names), threads);
}

void print_profile(const std::vector<std::shared_ptr<sheaf::bench::ProfiledDevice>>& devices, double call) {
  double sum = 0;
  const auto line = [](double seconds) -> std::ostream& {
    return std::cout << std::fixed << std::setprecision(3) << std::setw(10) << seconds * 1e3 << "  ";
  };
  for (size_t lane = 0; lane < devices.size(); ++lane) {
    for (const sheaf::bench::Timing& timing : devices[lane]->timings()) {
      sum += timing.seconds;
      line(timing.seconds) << "lane " << lane << "  " << timing.op << "  " << timing.layer << "  ["
                           << timing.implementation << "]\n";
    }
  }
  line(sum) << "sum of operations, all lanes\n";
  line(call) << "call\n";
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr << "usage: bench-step PLAN DEVICES BATCH [strict|fast] [threads=N] [--turns | --profile]\n";
    return 2;
  }
  const auto has = [&](const char* word) { return std::find(arguments.begin() + 3, arguments.end(), word) != arguments.end(); };
  auto model = sheaf::Model::load(arguments[0]);
  if (!model) return fail(model.error());
  if (auto done = model->initialise_parameters(1); !done) return fail(done.error());
  sheaf::BindOptions options{.fast_numerics = has("fast")};
  for (const std::string& argument : arguments) {
    if (argument.starts_with("threads=")) options.threads = std::atoi(argument.c_str() + 8);
  }
  std::vector<std::shared_ptr<sheaf::bench::ProfiledDevice>> profiled;
  const auto bind_start = Clock::now();
  auto session = [&]() -> sheaf::Result<sheaf::Session> {
    const int64_t batch = std::atoll(arguments[2].c_str());
    if (!has("--profile")) return model->bind(arguments[1], batch, options);
    const int threads = options.threads > 0 ? options.threads : sheaf::available_cpus();
    auto devices = profiled_devices(arguments[1], threads, profiled);
    if (!devices) return devices.error();
    return model->bind(std::make_shared<const sheaf::DeviceSet>(std::move(*devices)), batch, options);
  }();
  if (!session) return fail(session.error());
  const double bind_seconds = seconds_since(bind_start);

  std::vector<std::vector<char>> memory;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  for (size_t i = 0; i < model->inputs().size(); ++i)
    inputs.push_back(memory.emplace_back(input_of(model->inputs()[i].dtype, session->input_shape(i))).data());
  for (size_t i = 0; i < model->outputs().size(); ++i)
    outputs.push_back(memory.emplace_back(bytes_of(model->outputs()[i].dtype, session->output_shape(i))).data());
  const auto timed = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      if (auto done = session->run(inputs, outputs); !done) std::exit(fail(done.error()));
    return seconds_since(start) / calls;
  };

  size_t arena = 0;
  size_t bound = 0;
  for (const sheaf::LaneInfo& lane : session->info().lanes) {
    arena += lane.arena_bytes;
    bound += lane.arena_bound;
  }
  timed(2);
  std::cout << "{\"bind_seconds\": " << bind_seconds << ", \"arena_bytes\": " << arena << ", \"arena_bound\": " << bound
            << ", \"parameter_bytes\": " << session->info().parameter_bytes << "}" << std::endl;
  if (has("--turns")) {
    for (std::string line; std::getline(std::cin, line);) {
      const double before = cpu_seconds();
      const double wall = timed(1);
      std::cout << wall << " " << cpu_seconds() - before << std::endl;
    }
    return 0;
  }
  if (has("--profile")) {
    for (const auto& device : profiled) device->reset();
    double best = timed(1);
    for (int round = 0; round < 6; ++round) best = std::min(best, timed(1));
    print_profile(profiled, best);
    return 0;
  }
  const int calls = std::clamp(static_cast<int>(0.05 / timed(3)), 1, 100'000);
  double best = timed(calls);
  for (int round = 0; round < 10; ++round) best = std::min(best, timed(calls));
  std::cout << best << std::endl;
  return 0;
}
