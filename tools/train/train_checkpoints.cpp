// A training run's checkpoints: which one it resumes from, and what it saves.
#include "runtime/device/device_set.h"
#include "runtime/training/checkpoint_json.h"
#include "runtime/training/trainer_tensors.h"
#include "tools/train/train_run.h"

namespace sheaf {

std::string isa_and_cores(const DeviceSet& devices) {
  const DeviceInfo& host = devices.host().info();
  return host.isa + ", " + std::to_string(host.cores) + (host.cores == 1 ? " core" : " cores");
}

std::string steps_text(int64_t steps) { return with_thousands(steps) + (steps == 1 ? " step" : " steps"); }

RunIdentity TrainRun::identity() const {
  RunIdentity run{plan_hash_,
                  model_->name(),
                  data_->rows(),
                  loop_.batch_size,
                  settings_.seed,
                  settings_.shuffle,
                  {},
                  settings_.bind.fast_numerics ? "fast" : "strict",
                  isa_and_cores(*devices_),
                  settings_.micro_batches,
                  data_fingerprint_,
                  settings_.drop_last,
                  settings_.bind.shards,
                  learner_->trainer().report().choices};
  for (const DeviceSpec& device : settings_.devices) run.devices.push_back(to_string(device));
  return run;
}

Result<std::optional<CheckpointFolder::Found>> TrainRun::find_checkpoint(const RunIdentity& run) {
  SHEAF_ASSIGN(auto folder, CheckpointFolder::open(settings_.checkpoint, settings_.keep));
  folder_.emplace(std::move(folder));
  if (settings_.resume) {
    return folder_->newest(run, checkpoint_tensors(model_->plan()),
                           [&](const Error& error) { say("passed over: " + to_string(error)); });
  }
  const auto files = folder_->list();
  if (files.empty()) return std::optional<CheckpointFolder::Found>();
  return Error({settings_.checkpoint, 0, 0},
               "holds checkpoints of a run already, the newest of step " + std::to_string(files[0].step))
      .note("--resume goes on from it; for a new run give another folder or empty this one");
}

Result<void> TrainRun::share_checkpoint(std::optional<CheckpointFolder::Found>& found) const {
  SHEAF_ASSIGN(const auto texts, world_->exchange(leads() && found ? json_of(found->checkpoint).dump() : ""));
  if (texts[0].empty()) return {};
  if (!leads()) {
    SHEAF_ASSIGN(auto checkpoint, checkpoint_of(nlohmann::json::parse(texts[0])));
    found.emplace(CheckpointFolder::Found{"rank 0's", std::move(checkpoint), {}});
    for (const Parameter* tensor : checkpoint_tensors(model_->plan())) {
      SHEAF_ASSIGN(auto room, make_tensor(tensor->dtype, tensor->shape));
      found->tensors.push_back(std::move(room));
    }
  }
  for (const HostTensor& tensor : found->tensors)
    SHEAF_TRY(world_->broadcast(0, const_cast<std::byte*>(tensor.bytes.data()), tensor.bytes.size()));
  return {};
}

Result<void> TrainRun::resume() {
  plan_hash_ = plan_hash(model_->plan());
  SHEAF_ASSIGN(data_fingerprint_, data_->fingerprint());
  const RunIdentity run = identity();
  std::optional<CheckpointFolder::Found> found;
  if (leads()) {
    SHEAF_ASSIGN(found, find_checkpoint(run));
  }
  if (world_) {
    SHEAF_TRY(share_checkpoint(found));
  }
  if (!found) {
    if (settings_.resume) say(settings_.checkpoint + ": no checkpoint yet; beginning at the beginning");
    return {};
  }
  const Checkpoint& checkpoint = found->checkpoint;
  SHEAF_TRY(set_tensors(learner_->trainer(), found->tensors));
  state_ = checkpoint.state;
  if (state_.best.by != settings_.best) {
    say("note: evaluations were compared by " + state_.best.by + " until now; from here on by " + settings_.best);
    state_.best = {settings_.best, 0, 0};
  }
  resumed_from_ = found->file;
  say("resuming from " + resumed_from_ + ": " + steps_text(state_.step) + " done");
  if (!settings_.lr) learner_->progress().lr = checkpoint.lr;
  if (settings_.lr && *settings_.lr != checkpoint.lr)
    say("note: --lr is " + Json(*settings_.lr).dump() + " from here on; it was " + Json(checkpoint.lr).dump());
  for (const std::string& difference : rounding_differences(checkpoint.identity, run))
    say("note: " + difference + ": results equal those of a run that never stopped within rounding only, not bit for bit");
  return {};
}

Result<void> TrainRun::save_checkpoint(const LoopState& state) {
  if (metrics_) {
    SHEAF_TRY(metrics_->sync());
  }
  SHEAF_ASSIGN(auto tensors, read_tensors(learner_->trainer()));
  if (!folder_) return {};  // rank 0 writes what all have read together
  return folder_->save({identity(), learner_->progress().lr, state}, views_of(tensors));
}

}  // namespace sheaf
