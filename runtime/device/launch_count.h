// How many launches an operation takes on a device with asynchronous queues.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// What an execution puts into a queue: kernels, fills, calls of a library. Executables that know it are this too.
class CountsLaunches {
 public:
  virtual ~CountsLaunches() = default;
  virtual int launches() const = 0;
};

/// Stands where a binding is only planned, for an operation of other than one launch.
class PlannedLaunches final : public Executable, public CountsLaunches {
 public:
  explicit PlannedLaunches(int launches) : launches_(launches) {}
  void run(void* const*, void*) override {}
  bool guardable() const override { return true; }
  int launches() const override { return launches_; }

 private:
  int launches_;
};

/// Null, as of any operation that is only planned, where there is one launch.
inline std::unique_ptr<Executable> planned_launches_of(int launches) {
  return launches == 1 ? nullptr : std::make_unique<PlannedLaunches>(launches);
}

/// One, where nobody says otherwise. `executable` may be null.
inline int launches_of(const Executable* executable) {
  const auto* counting = dynamic_cast<const CountsLaunches*>(executable);
  return counting ? counting->launches() : 1;
}

}  // namespace sheaf
