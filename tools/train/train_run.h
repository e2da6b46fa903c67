// One training run from files to files: what `sheaf train` does once its command line is read.
#pragma once

#include "runtime/training/checkpoint_folder.h"
#include "tools/train/display.h"
#include "tools/train/event_file.h"
#include "runtime/training/evaluator.h"
#include "tools/train/metrics_file.h"
#include "runtime/training/model_learner.h"
#include "runtime/world/facts.h"
#include "runtime/world/process_world.h"
#include "tools/train/stop_signals.h"
#include "tools/train/train_settings.h"

#include <optional>

namespace sheaf {

/// "x86-64-v4, 8 cores": of the host.
std::string isa_and_cores(const DeviceSet& devices);
/// "1,200 steps".
std::string steps_text(int64_t steps);

class TrainRun {
 public:
  /// `world`: the world that this process belongs to; null: it is the only process. Only rank 0 writes files and messages; the
  /// others only read checkpoints.
  TrainRun(TrainSettings settings, std::shared_ptr<ProcessWorld> world);

  /// Loads and checks everything, prints the settings in force and trains; then writes the requested outputs. If a signal stops
  /// it, it saves a checkpoint (if there is a folder for them) and writes nothing else.
  Result<Ending> run();

 private:
  Result<void> load();
  Result<void> load_data();
  Result<void> check_best();
  Result<void> check_monitor() const;
  Result<void> open_devices();
  Result<void> compare() const;
  Result<void> resume();
  /// Rank 0's checkpoint, on all ranks.
  Result<void> share_checkpoint(std::optional<CheckpointFolder::Found>& found) const;
  Result<std::optional<CheckpointFolder::Found>> find_checkpoint(const RunIdentity& run);
  Result<Ending> loop();
  Result<void> save_weights(const std::string& file) const;
  Result<void> write_results();
  Result<void> save_checkpoint(const LoopState& state);
  Result<void> tell_epoch(const EpochRecord& record);
  RunIdentity identity() const;
  bool leads() const { return !world_ || world_->rank() == 0; }
  void say(const std::string& text) const;
  void say_end() const;

  TrainSettings settings_;
  const std::shared_ptr<ProcessWorld> world_;
  std::optional<Model> model_;
  std::shared_ptr<const DeviceSet> devices_;
  LossSection loss_;
  std::optional<Dataset> data_, eval_;
  LengthNumbers lengths_, eval_lengths_;  ///< of their rows
  std::unique_ptr<ModelLearner> learner_;
  std::optional<Evaluator> evaluator_;
  std::optional<CheckpointFolder> folder_;
  std::optional<MetricsFile> metrics_;
  std::optional<EventFile> events_;
  std::optional<Display> display_;
  std::shared_ptr<Trace> trace_;   ///< null: none is requested
  std::string plan_hash_;          ///< of a run with checkpoints
  uint32_t data_fingerprint_ = 0;  ///< of a run with checkpoints
  LoopSettings loop_;
  LoopState state_;
  std::string resumed_from_;            ///< a checkpoint; empty: a new run
  std::optional<EpochRecord> partial_;  ///< of an epoch that --steps cut short
};

}  // namespace sheaf
