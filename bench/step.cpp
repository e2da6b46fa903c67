// Times steps of a plan through the C++ interface.
//
//   bench-step PLAN DEVICES BATCH [strict|fast] [--turns]
//
// Prints one line of JSON: memory and bind time. Then, without --turns, a line with the seconds of one call (the best
// of several rounds, each long enough to time). With --turns it times one call for each line on stdin and prints
// its seconds, so that another program can take turns on the same machine. Models that print are not for it.
#include "runtime/bind/binding.h"
#include "runtime/sheaf.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 3) {
    std::cerr << "usage: bench-step PLAN DEVICES BATCH [strict|fast] [--turns]\n";
    return 2;
  }
  const auto has = [&](const char* word) { return std::find(arguments.begin() + 3, arguments.end(), word) != arguments.end(); };
  auto model = sheaf::Model::load(arguments[0]);
  if (!model) return fail(model.error());
  if (auto done = model->initialise_parameters(1); !done) return fail(done.error());
  const auto bind_start = Clock::now();
  auto session = model->bind(arguments[1], std::atoll(arguments[2].c_str()), {.fast_numerics = has("fast")});
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
    for (std::string line; std::getline(std::cin, line);) std::cout << timed(1) << std::endl;
    return 0;
  }
  const int calls = std::clamp(static_cast<int>(0.05 / timed(3)), 1, 100'000);
  double best = timed(calls);
  for (int round = 0; round < 10; ++round) best = std::min(best, timed(calls));
  std::cout << best << std::endl;
  return 0;
}
