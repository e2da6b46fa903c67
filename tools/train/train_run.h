// One training run from files to files: what `sheaf train` does once its command line is read.
#pragma once

#include "runtime/training/checkpoint_folder.h"
#include "tools/train/display.h"
#include "tools/train/event_file.h"
#include "runtime/training/evaluator.h"
#include "tools/train/metrics_file.h"
#include "runtime/training/model_learner.h"
#include "tools/train/stop_signals.h"
#include "tools/train/train_settings.h"

#include <optional>

namespace sheaf {

class TrainRun {
 public:
  explicit TrainRun(TrainSettings settings) : settings_(std::move(settings)) {}

  /// Loads and checks everything, prints the settings in force and trains; then writes what was asked for. Stopped by
  /// a signal, it has saved a checkpoint (where there is a folder for them) and written nothing else.
  Result<Ending> run();

 private:
  Result<void> load();
  Result<void> load_data();
  Result<void> check_best();
  Result<void> resume();
  Result<Ending> loop();
  Result<void> write_results();
  Result<void> save_checkpoint(const LoopState& state);
  Result<void> tell_epoch(const EpochRecord& record);
  RunIdentity identity() const;
  void say_end() const;

  TrainSettings settings_;
  std::optional<Model> model_;
  std::shared_ptr<const DeviceSet> devices_;
  LossSection loss_;
  std::optional<Dataset> data_, eval_;
  std::unique_ptr<ModelLearner> learner_;
  std::optional<Evaluator> evaluator_;
  std::optional<CheckpointFolder> folder_;
  std::optional<MetricsFile> metrics_;
  std::optional<EventFile> events_;
  std::optional<Display> display_;
  std::shared_ptr<Trace> trace_;   ///< null: none is asked for
  std::string plan_hash_;          ///< of a run with checkpoints,
  uint32_t data_fingerprint_ = 0;  ///< as this is
  LoopSettings loop_;
  LoopState state_;
  std::string resumed_from_;            ///< a checkpoint; empty: the run begins
  std::optional<EpochRecord> partial_;  ///< of an epoch that --steps cut short
};

}  // namespace sheaf
