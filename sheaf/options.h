// How a model is bound, and how it is run.
#pragma once

#include "runtime/base/bytes.h"
#include "runtime/base/length.h"
#include "sheaf/tune.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace sheaf {

class ArenaPool;
class Trace;  // sheaf/trace.h

/// Memory for bindings that share a pool and never run at the same time, such as training steps and the evaluation between
/// them. One thread at a time binds with it.
std::shared_ptr<ArenaPool> make_arena_pool();

struct BindOptions {
  bool fast_numerics = false;  ///< allow Winograd convolutions and split f32 on CPUs, TF32 on GPUs: faster, other rounding
  bool graphs = true;          ///< on GPUs: replay recorded operations instead of launching each one; the same bits
  bool deterministic = true;   ///< on GPUs: no sums whose order depends on timing
  /// Seconds without any progress after which a run gives up waiting for a GPU: it fails, and so does everything that uses the
  /// process's GPUs from then on. Above 0.
  double deadline_seconds = 300;
  int64_t micro_batches = 1;                    ///< for a Trainer: the number of parts in which a step's batch runs
  std::shared_ptr<ArenaPool> arenas = nullptr;  ///< null: memory of its own
  /// Total CPU threads, divided among CPU devices, if devices are given as text; 0: all that the process may use. A
  /// DeviceList has its own.
  int threads = 0;
  /// Logical shards that every batch is cut into, whatever the devices (docs/strategies.md), if devices are given as text; 0:
  /// one for each device. A DeviceList has its own.
  int shards = 0;
  Tune tune = Tune::off;
  /// A number for each of the model's lengths, with which a Session or Trainer is bound first; it takes data of others, too.
  LengthNumbers lengths{};
  bool explain = false;  ///< reasons in report() name the alternatives too; binding takes longer
  /// Inputs, and a Trainer's targets, of float32 whose data are bytes, by name. On GPUs alone they are given as bytes, a quarter of
  /// the memory that crosses the bus, and each GPU looks the numbers up: the same bits. Session::inputs() and Trainer::inputs() have
  /// them as uint8 then.
  std::map<std::string, ByteNumbers> bytes{};
};

struct RunOptions {
  /// Receives the lines that Print layers print (newline included), one at a time, from any thread; empty: stdout.
  std::function<void(std::string_view line)> print;
  /// Receives the times of the run's operations: a file for Perfetto, sums by layer. One run at a time may use it. Runs without
  /// one pay nothing for it.
  std::shared_ptr<Trace> trace;
};

}  // namespace sheaf
