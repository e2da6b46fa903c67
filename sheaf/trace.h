// Where the time of runs goes: give one of these to RunOptions::trace, then write it as a file for Perfetto or Chrome,
// or ask for sums by operation.
//
//   auto trace = std::make_shared<sheaf::Trace>();
//   sheaf::RunOptions options;
//   options.trace = trace;
//   for (…) session->run(inputs, outputs, options);
//   auto written = trace->write("trace.json");      // ui.perfetto.dev, or chrome://tracing
//   for (const auto& profile : trace->profiles()) …
//
// The first run of a session into a trace allocates what it takes; later ones allocate nothing.
#pragma once

#include "runtime/base/error.h"
#include "sheaf/profile.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sheaf {

struct DeviceDescriptions;
struct TracedProgram;
class Recording;

class Trace {
 public:
  /// A trace keeps the last runs ("steps") whose operations are at most so many, and one at least. Of the size that
  /// a file can have it is the bound: about 700 bytes an operation.
  static constexpr size_t kMostOperations = 100'000;

  explicit Trace(size_t most_operations = kMostOperations);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// What the devices can do, for shares of the roofline: a file of `sheaf bench --calibrate`. Without one they are guessed
  /// from the CPU's model. Before the first run. Errors, located at the file: it can't be read, or is no such file.
  Result<void> describe_devices(const std::string& file);

  /// Steps recorded so far, kept or not.
  int64_t steps() const;

  /// Chrome's trace event format (docs/trace.md). Not while a run records.
  std::string json() const;
  /// The same as a file, whole or not at all.
  Result<void> write(const std::string& file) const;

  /// By program and batch size, in the order of their first steps; over the steps that are kept. Not while a run
  /// records.
  std::vector<Profile> profiles() const;

  /// A wait of the training loop for its next batch, from `begin`, which now() gave, until now. The last 100,000 are
  /// kept.
  void add_data_wait(int64_t begin);
  /// In ticks of a clock of its own.
  static int64_t now();

  struct State;  ///< runtime/trace/trace_state.h

 private:
  friend class Binding;
  /// Tells traces apart, also one that was made where another had been.
  const void* identity() const;
  const DeviceDescriptions& devices() const;
  std::shared_ptr<Recording> add(TracedProgram program);

  std::unique_ptr<State> state_;
};

}  // namespace sheaf
