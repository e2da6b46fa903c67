// Streams and events of virtual GPUs: work that waits to be executed.
#pragma once

#include "tests/sim/operation_memory.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sheaf::sim {

struct Event {
  int device = 0;
  uint64_t recorded = 0;  ///< how often; only the last one counts
  uint64_t done = 0;      ///< the recording up to which the work is executed
  Clock clock;            ///< the work done when the last one arrives
  Name what;              ///< "event after …"
  bool timed = false;
  std::shared_ptr<double> time;  ///< host seconds at which the last recording is reached, once it is
};

/// What all members of a communicator execute together.
struct Meeting {
  std::vector<bool> at_head;  ///< by member: its stream has reached it
  std::function<Result<void>()> run;
  bool done = false;
  double time = 0;  ///< host seconds at which the last member has come so far
};

/// A piece of a stream's work.
struct Item {
  enum Kind {
    operation,  ///< opens an operation: what follows belongs to it
    work,       ///< of the open operation or, with accesses, on its own
    record,
    wait,
    meet,
    exchange  ///< with another process's streams
  } kind = work;
  Name what;
  std::vector<cuda::Access> accesses;
  std::function<Result<void>(OperationMemory&)> run;
  std::shared_ptr<Event> event;
  uint64_t number = 0;           ///< record, wait: which recording
  std::shared_ptr<double> time;  ///< record, wait: Event::time of that recording
  std::shared_ptr<Meeting> meeting;
  size_t member = 0;
  std::function<Result<bool>()> go_on;  ///< exchange: does what it can at once; whether that was all
  double asked = 0;                     ///< host seconds at which it was enqueued: it begins no earlier
  std::string name;                     ///< of what takes time
  bool never_ends = false;
  bool faults = false;
};

struct Stream {
  size_t id = 0;
  int device = 0;
  Clock clock;      ///< of what is enqueued
  double time = 0;  ///< host seconds at which all that was executed is done
  std::deque<Item> queue;
  std::unique_ptr<OperationMemory> open;  ///< the operation being executed
  std::vector<cuda::Access> announced_accesses;
  bool announced = false;            ///< one is open during enqueuing
  std::optional<Item> announcement;  ///< it was announced, but nothing of it was enqueued yet
  bool destroyed = false;
  void close() {  ///< what follows belongs to no operation
    announced = false;
    announcement.reset();
    announced_accesses.clear();
  }
  /// The open operation may write there.
  bool announces(const void* data, size_t bytes) const {
    const auto* begin = static_cast<const char*>(data);
    return std::any_of(announced_accesses.begin(), announced_accesses.end(), [&](const cuda::Access& access) {
      const auto* first = static_cast<const char*>(access.data);
      return access.writes && begin >= first && begin + bytes <= first + access.bytes;
    });
  }

  bool capturing = false;
  bool capture_broken = false;
  std::thread::id capturer;
  std::vector<Item> captured;
};

/// The result of a capture.
struct Graph {
  int device = 0;
  std::vector<Item> items;
};

}  // namespace sheaf::sim
