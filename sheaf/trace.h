// Shows where the time of runs goes: give one of these to RunOptions::trace, then write it as a file for Perfetto or Chrome,
// or ask for sums by operation.
//
//   auto trace = std::make_shared<sheaf::Trace>();
//   sheaf::RunOptions options;
//   options.trace = trace;
//   for (…) session->run(inputs, outputs, options);
//   auto written = trace->write("trace.json");      // ui.perfetto.dev, or chrome://tracing
//   for (const auto& profile : trace->profiles()) …
//
// The first run of a session into a trace allocates what it needs; later ones allocate nothing.
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
  /// A trace keeps the last runs ("steps"), at least one, with at most this many operations in all. That bounds a
  /// file's size: about 700 bytes an operation.
  static constexpr size_t kMostOperations = 100'000;

  explicit Trace(size_t most_operations = kMostOperations);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The devices' rates, for shares of the roofline: a file of `sheaf bench --calibrate`. Without one they are guessed
  /// from the CPU's model. Call it before the first run. Errors, located at the file: it can't be read, or isn't such a file.
  Result<void> describe_devices(const std::string& file);

  /// Steps recorded so far, kept or not.
  int64_t steps() const;

  /// Chrome's trace event format (docs/trace.md). Don't call it while a run records.
  std::string json() const;
  /// The same as a file, written completely or not at all.
  Result<void> write(const std::string& file) const;

  /// By program and batch size, in the order of their first steps; over the steps that are kept. Don't call it while a run
  /// records.
  std::vector<Profile> profiles() const;

  /// Records a wait of the training loop for its next batch, from `begin` (a result of now()) until now. Keeps the last
  /// 100,000.
  void add_data_wait(int64_t begin);
  /// In ticks of the trace's clock.
  static int64_t now();

  struct State;  ///< runtime/trace/trace_state.h

 private:
  friend class Binding;
  /// Tells traces apart, even if one was made at the address of another.
  const void* identity() const;
  const DeviceDescriptions& devices() const;
  std::shared_ptr<Recording> add(TracedProgram program);

  std::unique_ptr<State> state_;
};

}  // namespace sheaf
