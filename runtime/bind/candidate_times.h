// The times of operations of a planned binding, measured one by one on separate memory.
#pragma once

#include "runtime/bind/bound_program.h"

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// Memory for trying operations, which grows as needed.
class TrialMemory {
 public:
  explicit TrialMemory(Device& device) : device_(&device) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  /// At least `bytes`. `numbers`: filled with numbers from 1/2 to 1, as f32 or bf16, replacing old contents; else any bytes.
  Result<char*> room(size_t bytes, bool numbers);

 private:
  Device* device_;
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

/// An operation of a planned binding.
struct Planned {
  const BoundProgram* program;
  const Instance* instance;
};

/// Runs operations on the lanes' devices, which share the host's memory, and keeps their times by key.
class CandidateTimes {
 public:
  explicit CandidateTimes(const DeviceSet& devices) : devices_(devices) {}

  /// Seconds of the fastest of the timed runs; null: not measured.
  const double* known(const BoundProgram& program, const Instance& instance) const;
  /// For the operation `key` computed by `candidate`.
  const double* known(const std::string& key, const std::string& candidate) const;
  /// Runs each once untimed, which fetches code and data, then all of them in turns, `turns` times or until `over()`, but at
  /// least once: other load on the machine then slows all of them, and their order stays. All on one lane.
  Result<void> measure(std::span<const Planned> abreast, int turns, const std::function<bool()>& over);

 private:
  /// Of one memory: what is read, what is written, scratch.
  struct Trial {
    explicit Trial(Device& device) : inputs(device), outputs(device), scratch(device) {}
    TrialMemory inputs, outputs, scratch;
  };
  Result<std::vector<void*>> buffers_of(Trial& trial, const Planned& planned) const;

  const DeviceSet& devices_;
  std::map<int, std::unique_ptr<Trial>> trials_;  ///< by memory
  std::map<std::string, double> seconds_;
};

}  // namespace sheaf
