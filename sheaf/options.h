// How a model is bound, and how it is run.
#pragma once

#include "sheaf/tune.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace sheaf {

class ArenaPool;
class Trace;  // sheaf/trace.h

/// Memory for what is bound with the same pool and never runs at the same time, such as training steps and the evaluation between
/// them. One thread at a time binds with it.
std::shared_ptr<ArenaPool> make_arena_pool();

struct BindOptions {
  bool fast_numerics = false;  ///< allow Winograd convolutions on CPUs, TF32 on GPUs: faster, other rounding
  bool graphs = true;          ///< on GPUs: replay what was recorded instead of handing over each operation; the same bits
  bool deterministic = true;   ///< on GPUs: no sums whose order depends on timing
  /// Seconds without any progress after which a run gives up waiting for a GPU: it fails, and so does all that uses the process's GPUs
  /// from then on. Above 0.
  double deadline_seconds = 300;
  int64_t micro_batches = 1;                    ///< of a Trainer: parts that a step's batch is run in
  std::shared_ptr<ArenaPool> arenas = nullptr;  ///< null: memory of its own
  /// CPU threads in all, shared out among CPU devices, where devices are given as text; 0: all that the process may use. A
  /// DeviceList has its own.
  int threads = 0;
  /// Logical shards that every batch is cut into, whatever the devices (docs/strategies.md), where devices are given as text; 0: one
  /// for each device. A DeviceList has its own.
  int shards = 0;
  Tune tune = Tune::off;
  bool explain = false;  ///< reasons in report() name the alternatives too; binding takes longer
};

struct RunOptions {
  /// Takes lines that Print layers print (newline included), one at a time, from any thread; empty: stdout.
  std::function<void(std::string_view line)> print;
  /// Takes the times of the run's operations: a file for Perfetto, sums by layer. One run at a time may go to it. A run without
  /// one is as fast as if there were no such thing.
  std::shared_ptr<Trace> trace;
};

}  // namespace sheaf
