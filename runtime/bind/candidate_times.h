// The times of operations of a planned binding, measured one by one on separate memory.
#pragma once

#include "runtime/bind/bound_program.h"
#include "runtime/machine/tick_clock.h"

#include <functional>
#include <map>
#include <span>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sheaf {

/// Memory for trying operations, which grows as needed.
class TrialMemory {
 public:
  explicit TrialMemory(Device& device) : device_(&device) {}
  ~TrialMemory();
  TrialMemory(const TrialMemory&) = delete;
  TrialMemory& operator=(const TrialMemory&) = delete;
  /// At least `bytes`. `numbers`: filled with numbers from 1/2 to 1, as f32 or bf16, replacing old contents; else any bytes. `queue`:
  /// of the device, which has nothing to do.
  Result<char*> room(size_t bytes, bool numbers, Queue& queue);

 private:
  Result<void> fill(bool numbers, Queue& queue);

  Device* device_;
  char* memory_ = nullptr;
  size_t bytes_ = 0;
};

/// An operation of a planned binding.
struct Planned {
  const BoundProgram* program;
  const Instance* instance;
};

/// Runs operations on the lanes' devices and keeps their times by key: where a queue can tell, the device's time.
class CandidateTimes {
 public:
  explicit CandidateTimes(const DeviceSet& devices) : devices_(devices) {}

  /// Seconds of the fastest of the timed runs; null: not measured.
  const double* known(const BoundProgram& program, const Instance& instance) const;
  /// For the operation `key` computed by `candidate`.
  const double* known(const std::string& key, const std::string& candidate) const;
  /// Runs each once untimed, which fetches code and data, then all of them in turns, `turns` times or until `over()`, but at
  /// least once: other load on the machine then slows all of them, and their order stays. Where each takes so long that fetching is
  /// nothing, the first run counts and half as many turns do. All on one lane.
  Result<void> measure(std::span<const Planned> abreast, int turns, const std::function<bool()>& over);

 private:
  /// Of one memory and number of threads: bytes to read, bytes to write, scratch.
  struct Trial {
    Trial(Device& device, std::unique_ptr<Queue> queue)
        : inputs(device), outputs(device), scratch(device), queue(std::move(queue)) {}
    TrialMemory inputs, outputs, scratch;
    std::unique_ptr<Queue> queue;
  };
  Result<Trial*> trial_of(LaneId lane);
  /// Seconds of one run. `alone`: of the thread's own work.
  Result<double> seconds_of(Queue& queue, const Instance::Call& call, const std::vector<void*>& buffers, void* scratch,
                            bool alone);
  Result<std::vector<void*>> buffers_of(Trial& trial, const Planned& planned) const;

  const DeviceSet& devices_;
  std::map<std::pair<int, int>, std::unique_ptr<Trial>> trials_;
  TickScale scale_;
  std::map<std::string, double> seconds_;
};

}  // namespace sheaf
