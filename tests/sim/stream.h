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
  uint64_t recorded = 0;  ///< how often it was; the last of them is meant
  uint64_t done = 0;      ///< up to which of them the work is executed
  Clock clock;            ///< what is done when the last is
  Name what;              ///< "event after …"
};

/// What all members of a communicator execute together.
struct Meeting {
  std::vector<bool> at_head;  ///< by member: its stream has come so far
  std::function<Result<void>()> run;
  bool done = false;
};

/// A piece of a stream's work.
struct Item {
  enum Kind {
    operation,  ///< opens one: what comes next belongs to it
    work,       ///< of the operation that is open, or, with accesses, on its own
    record,
    wait,
    meet
  } kind = work;
  Name what;
  std::vector<cuda::Access> accesses;
  std::function<Result<void>(OperationMemory&)> run;
  std::shared_ptr<Event> event;
  uint64_t number = 0;  ///< record, wait: which recording
  std::shared_ptr<Meeting> meeting;
  size_t member = 0;
  bool never_ends = false;
  bool faults = false;
};

struct Stream {
  size_t id = 0;
  int device = 0;
  Clock clock;  ///< of what is enqueued
  std::deque<Item> queue;
  std::unique_ptr<OperationMemory> open;  ///< the operation that is being executed
  std::vector<cuda::Access> announced_accesses;
  bool announced = false;            ///< one is open where things are enqueued
  std::optional<Item> announcement;  ///< it was announced, and nothing of it came yet
  bool destroyed = false;
  void close() {  ///< what comes next belongs to no operation
    announced = false;
    announcement.reset();
    announced_accesses.clear();
  }
  /// The operation that is open may write there.
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

/// What a capture gave.
struct Graph {
  int device = 0;
  std::vector<Item> items;
};

}  // namespace sheaf::sim
