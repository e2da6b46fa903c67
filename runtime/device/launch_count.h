// How many launches an operation needs on a device with asynchronous queues, how often all threads of one wait for each other, and
// what it reads more than once.
#pragma once

#include "runtime/device/operation.h"

namespace sheaf {

/// What an execution puts into a queue: kernels, fills, library calls. Executables that know their launches implement it.
class CountsLaunches {
 public:
  virtual ~CountsLaunches() = default;
  virtual int launches() const = 0;
  /// Bytes that its launches read beyond its operands' sizes: data that an earlier launch has already read, or made.
  virtual double bytes_again() const { return 0; }
  /// How often, within its launches, all of a launch's threads wait for each other.
  virtual int meetings() const { return 0; }
};

/// The time of a meeting as a share of a launch's: 1.2 µs of 2, an assumption. (A barrier of all blocks is a round trip of an atomic
/// operation to the L2 cache and polling; what is published for earlier GPUs is between 1 and 2 µs.)
inline constexpr double kMeetingInLaunches = 0.6;

/// The executable of an operation that is only planned and needs other than one launch.
class PlannedLaunches final : public Executable, public CountsLaunches {
 public:
  explicit PlannedLaunches(int launches, double bytes_again = 0, int meetings = 0)
      : launches_(launches), bytes_again_(bytes_again), meetings_(meetings) {}
  void run(void* const*, void*) override {}
  bool guardable() const override { return true; }
  int launches() const override { return launches_; }
  double bytes_again() const override { return bytes_again_; }
  int meetings() const override { return meetings_; }

 private:
  int launches_;
  double bytes_again_;
  int meetings_;
};

/// Null, as for any operation that is only planned, if there is one launch that reads everything once.
inline std::unique_ptr<Executable> planned_launches_of(int launches, double bytes_again = 0, int meetings = 0) {
  if (launches == 1 && bytes_again == 0 && meetings == 0) return nullptr;
  return std::make_unique<PlannedLaunches>(launches, bytes_again, meetings);
}

/// One, unless `executable` knows otherwise; it may be null.
inline int launches_of(const Executable* executable) {
  const auto* counting = dynamic_cast<const CountsLaunches*>(executable);
  return counting ? counting->launches() : 1;
}

/// None, unless `executable` knows otherwise; it may be null.
inline double bytes_again_of(const Executable* executable) {
  const auto* counting = dynamic_cast<const CountsLaunches*>(executable);
  return counting ? counting->bytes_again() : 0;
}

/// None, unless told otherwise. `executable` may be null.
inline int meetings_of(const Executable* executable) {
  const auto* counting = dynamic_cast<const CountsLaunches*>(executable);
  return counting ? counting->meetings() : 0;
}

}  // namespace sheaf
