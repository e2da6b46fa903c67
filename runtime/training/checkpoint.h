// A checkpoint: one file from which a training run continues as if it had never stopped. The format is safetensors:
// parameters, buffers and optimiser state under their names, and everything else as JSON in its metadata
// ("sheaf_checkpoint"), with CRC-32 sums over everything against damage.
#pragma once

#include "runtime/plan/plan.h"
#include "runtime/training/checked_file.h"
#include "runtime/training/loop.h"
#include "sheaf/trainer.h"

#include <span>
#include <string>
#include <vector>

namespace sheaf {

/// The settings that a run was started with, as far as its results depend on them.
struct RunIdentity {
  // If these differ, it is another run and is refused.
  std::string plan;   ///< SHA-256 of the plan
  std::string model;  ///< its name, for messages
  int64_t rows = 0;
  int64_t batch_size = 0;
  uint64_t seed = 0;
  bool shuffle = true;
  // If these differ, results are equal within rounding.
  std::vector<std::string> devices;
  // … unless both runs have equally many shards: then the devices make no difference.
  std::string numerics;       ///< "strict", "fast"
  std::string cpu;            ///< instruction set and cores: "x86-64-v4, 8 cores"
  int64_t micro_batches = 1;  ///< a different number is another run, too,
  uint32_t data = 0;          ///< and so is other content of the rows: Dataset::fingerprint()
  bool drop_last = false;     ///< rows left over at an epoch's end made no step: likewise
  int64_t shards = 0;         ///< logical shards of a batch (docs/strategies.md); 0: one for each device
  std::string choices = {};   ///< BindingReport::choices: implementations chosen by measurement; empty: by the cost model
};

struct Checkpoint {
  RunIdentity identity;
  double lr = 0;  ///< base learning rate
  LoopState state;
};

/// Writes one atomically, as `name` in `folder`. `tensors`: parameters, buffers, optimiser state.
Result<void> write_checkpoint(const Folder& folder, const std::string& name, const Checkpoint& checkpoint,
                              std::span<const TensorView> tensors);

/// The SHA-256 in RunIdentity::plan: of what is common to plans compiled from one model with one precision, whatever
/// their strategy, so that a run can continue with another.
std::string plan_hash(const Plan& plan);

/// An opened checkpoint file: its metadata is checked for consistency; tensors are not yet read.
class CheckpointFile {
 public:
  /// Errors, located at the file: it is no checkpoint, or damaged.
  static Result<CheckpointFile> open(const Folder& folder, const std::string& name);
  const Checkpoint& content() const { return content_; }
  /// As CheckedFile::read().
  Result<std::vector<HostTensor>> read(std::span<const Parameter* const> expected) const { return file_.read(expected); }

 private:
  CheckpointFile(CheckedFile file, Checkpoint content) : file_(std::move(file)), content_(std::move(content)) {}
  CheckedFile file_;
  Checkpoint content_;
};

/// The contents of every checkpoint, including a trainer's own (Trainer::save()): the progress of training, and the plan.
struct SavedProgress {
  std::string plan;   ///< SHA-256
  std::string model;  ///< its name, for messages
  TrainingProgress progress;
};

/// `then` is of another plan; located at `file`.
Result<void> check_same_plan(const std::string& file, const SavedProgress& then, const std::string& plan,
                             const std::string& model);
/// Why a run described by `now` can't continue the one described by `then`; located at `file`.
Result<void> check_same_run(const std::string& file, const RunIdentity& then, const RunIdentity& now);
/// The differences that make results equal only within rounding: "devices were cpu:0 and are cpu:0,cpu:1"; empty: nothing.
std::vector<std::string> rounding_differences(const RunIdentity& then, const RunIdentity& now);

}  // namespace sheaf
