// The command line of `sheaf train`, read and checked, and the settings in force as text.
#pragma once

#include "runtime/device/device_list.h"
#include "tools/cli/options.h"
#include "runtime/plan/plan.h"
#include "sheaf/model.h"
#include "tools/cli/trace_options.h"
#include "runtime/training/loop.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sheaf {

struct TrainSettings {
  std::string plan;
  std::vector<DeviceSpec> devices;
  std::map<std::string, std::string> data, eval;                                 ///< SOURCE by NAME
  std::string weights, save, save_best, metrics, plot, tensorboard, checkpoint;  ///< file names; empty: not given
  bool weights_partial = false;
  std::string best = "loss";                      ///< the value that evaluations are compared by
  int64_t patience = 0;                           ///< 0: none
  int64_t batch_size = 0, epochs = 0, steps = 0;  ///< epochs or steps, the other one 0
  int64_t micro_batches = 1;
  int64_t checkpoint_every = 0;
  int keep = 3;
  bool resume = false, shuffle = true, drop_last = false;
  BindOptions bind;       ///< numerics, graphs, deterministic
  LengthNumbers lengths;  ///< of --length
  TraceRequest trace;
  std::optional<double> lr;
  uint64_t seed = 0;
};

OptionParser train_options();

/// Every error is the command line's fault.
Result<TrainSettings> train_settings(const Options& options);

/// The sources of the settings in force besides the command line.
struct SettingsInForce {
  const Plan& plan;
  const TrainSettings& settings;
  int64_t rows = 0, eval_rows = 0;
  LoopSettings loop;
  double lr = 0;
  bool gpus = false;       ///< some device is asynchronous
  std::string cpu;         ///< "AMD EPYC …, 8 cores, x86-64-v4"
  std::string checkpoint;  ///< the file that the run is resumed from; empty: a new run
};

/// A table of two columns, one setting per line.
std::string settings_text(const SettingsInForce& in_force);

}  // namespace sheaf
