// The progress of a queue's work, for the report of a failed wait, at the cost of an event every few operations.
#pragma once

#include "runtime/cuda/driver.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace sheaf::cuda {

/// The queue's thread puts marks into the stream; any thread may ask for the progress.
class Progress {
 public:
  /// `name`: the device's ("cuda:0"). Errors: the driver's.
  Progress(Driver& driver, std::string name) : driver_(driver), name_(std::move(name)) {}
  ~Progress();
  Result<void> open(int device);

  /// An operation was put into `stream`. Allocates nothing.
  void enqueued(std::string_view what, Stream stream);
  /// All work up to here is done.
  void finished();
  /// Number of the newest operation known to be done: it grows while the device works.
  uint64_t done();
  /// "cuda:0: last put into its queue: WHAT (operation 12); last known to be done: WHAT (operation 8)".
  std::string report();

 private:
  static constexpr uint64_t kEvery = 8;  ///< operations between marks
  static constexpr size_t kMarks = 16;
  static constexpr size_t kText = 200;  ///< of a description, so that noting it allocates nothing

  struct Note {
    uint64_t number = 0;  ///< counts from 1
    std::string what;
  };
  struct Mark {
    DriverEvent event = nullptr;
    Note note;
  };
  void look();  ///< moves marks that are done out of the ring; mutex_ is held

  Driver& driver_;
  std::string name_;
  std::mutex mutex_;
  Note last_, done_;
  /// In the order of the stream. A mark that isn't done is not dropped for a newer one: the oldest shows where the work has
  /// stopped, which is what counts.
  std::array<Mark, kMarks> marks_;
  size_t first_ = 0, count_ = 0;
};

}  // namespace sheaf::cuda
