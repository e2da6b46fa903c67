// The program of a lane: flat arrays, with all addresses and waits computed by binding.
#pragma once

#include "runtime/device/device_set.h"
#include "runtime/device/overlapping_runs.h"
#include "runtime/device/recorded_transfers.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sheaf {

/// An item of a bound program: an operation, a copy, or other work of a lane.
using InstanceId = Id<struct Instance>;

/// Wait until lane `lane` has made `position` of its operations known as done.
struct LaneWait {
  LaneId lane = kHostLane;
  int32_t position = 0;
  Event* event = nullptr;         ///< recorded by then, if that lane's device is asynchronous
  Executable* decider = nullptr;  ///< the host must know whether this failed before the run goes on: it blocks for `event`
};

struct LaneOperation {
  enum Kind : uint8_t { launch, copy, fetch, print } kind = launch;
  bool can_fail = false;
  bool commits = false;   ///< writes a variable: skipped once the run has failed
  bool ahead = false;     ///< its copy may have been made during the run before (LaneProgram::ahead)
  bool delivers = false;  ///< a small copy of contiguous bytes to the caller's memory, which no lane waits for
  bool guarded = false;   ///< and is skipped by the device itself: only the device knows whether the run failed
  int32_t signal = 0;     ///< position to make known when done; 0: no lane waits for it
  uint32_t first_slot = 0;
  uint32_t first_wait = 0, end_wait = 0;
  Executable* executable = nullptr;
  void* scratch = nullptr;
  CopyShape copy_shape;                   ///< copy: slots are target, source
  uint32_t first_part = 0, end_part = 0;  ///< fetch: slots are the target, then a source for each of LaneProgram::parts
  const std::string* text = nullptr;      ///< print
  Event* event = nullptr;                 ///< to record before the signal, on an asynchronous device
  int collective = -1;                    ///< other lanes' operations with the same number are launched at the same time
  int replica = -1;                       ///< of a region, for messages; -1 outside
  InstanceId instance;                    ///< of the bound program
  int turn = 0;                           ///< its place where all lanes' operations run one after another
};

/// One launch of an asynchronous lane: an operation, or several merged into one.
struct LaneLaunch {
  uint32_t first = 0, end = 0;   ///< operations
  Executable* merged = nullptr;  ///< does the work of all of them; null: there is only one
};

/// Launches of which only the first may wait and only the last signals: recorded at their second run, then
/// replayed.
struct LaneSegment {
  uint32_t first = 0, end = 0;  ///< launches
  bool commits = false;         ///< some of them do
  bool seen = false;            ///< they have been run once
  /// By the inputs' memory in use (LaneProgram::second) and the run's phase; made where they are needed.
  std::unique_ptr<RecordedWork> work[2][2] = {};
};

/// A slot whose address lies in one of the two memories of an input, and the same place in the other.
struct TwoPlaces {
  uint32_t slot = 0;  ///< of LaneProgram::slots
  void* other = nullptr;
};

/// An operation `ahead`: from where it copies the caller's data.
struct AheadCopy {
  uint32_t operation = 0;
  size_t input = 0;          ///< the caller's
  size_t source_offset = 0;  ///< bytes
  uint32_t target = 0;       ///< of LaneProgram::two_places: where to
};

struct LaneProgram {
  std::vector<LaneOperation> operations;
  uint32_t first_part = 0;   ///< of a run in two parts: how many operations the first does
  std::vector<void*> slots;  ///< operands' addresses
  std::vector<LaneWait> waits;
  std::vector<CopyPart> parts;
  // Inputs that come ahead have two memories: a run reads one while the next run's data go to the other.
  std::vector<TwoPlaces> two_places;
  std::vector<AheadCopy> ahead;
  bool second = false;  ///< the memory in use
  /// By phase: where runs end that need not be done before the next one begins (Executor::overlaps()); null: there are none.
  Event* ends[2] = {};
  std::unique_ptr<Queue> queue;
  RecordsTransfers* transfers = nullptr;  ///< the queue, if it is such a one and segments are recorded
  OverlapsRuns* overlapping = nullptr;    ///< the queue, if it is such a one
  std::vector<LaneLaunch> launches;       ///< of an asynchronous lane: all its operations, in order
  std::vector<LaneSegment> segments;      ///< some of its launches, in order
  bool asynchronous = false;
  /// All operations that write no variable run once, one after another, before the first run: here or on another rank, streams wait for
  /// each other's work, or another process's.
  bool loads_first = false;
  int threads = 1;
};

}  // namespace sheaf
