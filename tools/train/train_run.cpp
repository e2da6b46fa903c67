#include "tools/train/train_run.h"

#include "runtime/base/file.h"
#include "runtime/base/suggest.h"
#include "runtime/device/device_set.h"
#include "runtime/machine/isa.h"
#include "runtime/session/open_devices.h"
#include "runtime/training/trainer_tensors.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/report.h"
#include "tools/train/open_rows.h"
#include "tools/train/partial_weights.h"
#include "tools/train/plot.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

std::string isa_and_cores(const DeviceSet& devices) {
  const DeviceInfo& host = devices.host().info();
  return host.isa + ", " + std::to_string(host.cores) + (host.cores == 1 ? " core" : " cores");
}

double model_lr(const Plan& plan) {
  const Json& lr = member_of(member_of(plan.training, "optimizer"), "lr");
  return lr.is_number() ? lr.get<double>() : 0;
}

std::string steps_text(int64_t steps) { return with_thousands(steps) + (steps == 1 ? " step" : " steps"); }

void say(const std::string& text) { std::fputs((text + "\n").c_str(), stderr); }

}  // namespace

Result<Ending> TrainRun::run() {
  for (const std::string* file : {&settings_.save, &settings_.save_best, &settings_.metrics, &settings_.plot}) {
    SHEAF_TRY(check_output(*file));
  }
  SHEAF_ASSIGN(trace_, settings_.trace.open());
  SHEAF_TRY(load());
  SHEAF_TRY(load_data());

  if (settings_.drop_last && data_->rows() < settings_.batch_size)
    return Error("--drop-last leaves nothing: " + with_thousands(data_->rows()) +
                 " rows are fewer than a batch (--batch-size)");
  loop_.batch_size = std::min(settings_.batch_size, data_->rows());
  loop_.checkpoint_every = settings_.checkpoint_every;
  loop_.shuffle = settings_.shuffle;
  loop_.drop_last = settings_.drop_last;
  loop_.seed = settings_.seed;
  loop_.loss_is_sum = loss_.sum;
  loop_.patience = settings_.patience;
  SHEAF_TRY(check_best());
  const int64_t per_epoch = batches_per_epoch(data_->rows(), loop_.batch_size, loop_.drop_last);
  if (settings_.epochs > (int64_t{1} << 50) / per_epoch) return Error("--epochs: so many steps can't be counted");
  loop_.steps = settings_.epochs > 0 ? settings_.epochs * per_epoch : settings_.steps;

  BindOptions bind = settings_.bind;
  bind.micro_batches = settings_.micro_batches;
  bind.arenas = make_arena_pool();  // steps and evaluation take turns
  const TrainingProgress progress{0, 0, settings_.lr.value_or(model_lr(model_->plan())), settings_.seed};
  SHEAF_ASSIGN(learner_, ModelLearner::make(*model_, devices_, data_->rows(), loop_.batch_size, progress, bind));
  learner_->set_trace(trace_);
  if (eval_) {
    // No more rows at a time than in training, whose memory is known to be there.
    const int64_t evaluated = (settings_.batch_size + settings_.micro_batches - 1) / settings_.micro_batches;
    SHEAF_ASSIGN(evaluator_, Evaluator::make(*model_, devices_, *eval_, loss_, evaluated, bind));
    evaluator_->set_trace(trace_);
  }
  if (!settings_.checkpoint.empty()) {
    SHEAF_TRY(resume());
  }
  return loop();
}

Result<void> TrainRun::load() {
  SHEAF_ASSIGN(model_, Model::load(settings_.plan));
  SHEAF_ASSIGN(loss_, loss_section(*model_->plan()));
  const std::vector<ValueInfo> values = training_values(model_->plan());
  SHEAF_TRY(check_names("--data", "inputs and targets", model_->name(), values, settings_.data));
  if (!settings_.eval.empty()) {
    SHEAF_TRY(check_names("--eval", "inputs and targets", model_->name(), values, settings_.eval));
  }
  SHEAF_ASSIGN(auto devices, open_devices(settings_.devices, 0, settings_.bind.shards));
  devices_ = std::make_shared<const DeviceSet>(std::move(devices));
  if (!settings_.weights.empty() && !settings_.weights_partial) return load_weights(*model_, settings_.weights);
  SHEAF_TRY(model_->initialise_parameters(settings_.seed));
  return settings_.weights.empty() ? Result<void>() : load_partial_weights(*model_, settings_.weights);
}

/// --best names what evaluation tells.
Result<void> TrainRun::check_best() {
  state_.best.by = settings_.best;
  std::vector<std::string> known = {"loss"};
  for (const Metric metric : loss_.metrics) known.push_back(row_of(metric).name);
  if (std::ranges::find(known, settings_.best) != known.end()) return {};
  return Error("--best " + settings_.best + ": evaluation tells " + quoted_list(known))
      .note("the \"metrics\" of the model file's training section say what it tells beside the loss");
}

Result<void> TrainRun::load_data() {
  SHEAF_ASSIGN(data_, open_rows(*model_, loss_, "--data", settings_.data, settings_.seed));
  if (settings_.eval.empty()) return {};
  SHEAF_ASSIGN(eval_, open_rows(*model_, loss_, "--eval", settings_.eval, settings_.seed));
  return {};
}

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
                  settings_.bind.shards};
  for (const DeviceSpec& device : settings_.devices) run.devices.push_back(to_string(device));
  return run;
}

Result<void> TrainRun::resume() {
  plan_hash_ = plan_hash(model_->plan());
  SHEAF_ASSIGN(data_fingerprint_, data_->fingerprint());
  SHEAF_ASSIGN(auto folder, CheckpointFolder::open(settings_.checkpoint, settings_.keep));
  folder_.emplace(std::move(folder));
  if (!settings_.resume) {
    const auto files = folder_->list();
    if (files.empty()) return {};
    return Error({settings_.checkpoint, 0, 0},
                 "holds checkpoints of a run already, the newest of step " + std::to_string(files[0].step))
        .note("--resume goes on from it; for a new run give another folder or empty this one");
  }
  const RunIdentity run = identity();
  auto found = folder_->newest(run, checkpoint_tensors(model_->plan()),
                               [](const Error& error) { say("passed over: " + to_string(error)); });
  if (!found) return found.error();
  if (!*found) {
    say(settings_.checkpoint + ": no checkpoint yet; beginning at the beginning");
    return {};
  }
  const Checkpoint& checkpoint = (*found)->checkpoint;
  SHEAF_TRY(set_tensors(learner_->trainer(), (*found)->tensors));
  state_ = checkpoint.state;
  if (state_.best.by != settings_.best) {
    say("note: evaluations were compared by " + state_.best.by + " until now; from here on by " + settings_.best);
    state_.best = {settings_.best, 0, 0};
  }
  resumed_from_ = (*found)->file;
  say("resuming from " + resumed_from_ + ": " + steps_text(state_.step) + " done");
  if (!settings_.lr) learner_->progress().lr = checkpoint.lr;
  if (settings_.lr && *settings_.lr != checkpoint.lr)
    say("note: --lr is " + Json(*settings_.lr).dump() + " from here on; it was " + Json(checkpoint.lr).dump());
  for (const std::string& difference : rounding_differences(checkpoint.identity, run))
    say("note: " + difference + ": results equal those of a run that never stopped within rounding only, not bit for bit");
  return {};
}

Result<Ending> TrainRun::loop() {
  say(settings_text({model_->plan(), settings_, data_->rows(), eval_ ? eval_->rows() : 0, loop_, learner_->progress().lr,
                     devices_->any_asynchronous(), cpu_model_name() + ", " + isa_and_cores(*devices_), resumed_from_}));
  const int64_t per_epoch = batches_per_epoch(data_->rows(), loop_.batch_size, loop_.drop_last);
  display_.emplace(stderr, RunLength{(loop_.steps + per_epoch - 1) / per_epoch, loop_.steps, per_epoch});
  if (!settings_.metrics.empty()) {
    SHEAF_ASSIGN(auto metrics, MetricsFile::open(settings_.metrics, state_.step, state_.epoch));
    metrics_.emplace(std::move(metrics));
  }
  if (!settings_.tensorboard.empty()) {
    SHEAF_ASSIGN(auto events, EventFile::open(settings_.tensorboard, state_.step));
    events_.emplace(std::move(events));
  }
  StopSignals signals;
  LoopHooks hooks;
  hooks.stopped = [&] { return signals.caught() != 0; };
  hooks.trace = trace_;
  hooks.step = [&](const StepRecord& record) -> Result<void> {
    display_->step(record);
    if (events_) {
      SHEAF_TRY(events_->add(record));
    }
    return metrics_ ? metrics_->add(metrics_line(record)) : Result<void>();
  };
  hooks.epoch = [&](const EpochRecord& record) { return tell_epoch(record); };
  if (evaluator_) hooks.evaluate = [&] { return evaluator_->run(hooks.stopped); };
  if (folder_) hooks.save = [&](const LoopState& state) { return save_checkpoint(state); };
  if (!settings_.save_best.empty()) hooks.keep_best = [&] { return model_->save_parameters(settings_.save_best); };
  auto ending = train(*learner_, *data_, loop_, hooks, state_);
  display_->clear();
  if (metrics_) {
    if (auto ok = metrics_->flush(); !ok && ending) return ok.error();
  }
  if (!ending) return ending;
  if (*ending == Ending::stopped) {
    say("stopped by " + std::string(StopSignals::name(signals.caught())) + " after step " + with_thousands(state_.step) +
        " of " + with_thousands(loop_.steps) +
        (folder_ ? "; a checkpoint is saved in " + settings_.checkpoint + ": the same command with --resume goes on from it"
                 : "; nothing is saved (no --checkpoint was given)"));
    return ending;
  }
  SHEAF_TRY(write_results());
  say_end();
  SHEAF_TRY(settings_.trace.finish(trace_.get()));
  return ending;
}

Result<void> TrainRun::tell_epoch(const EpochRecord& record) {
  display_->epoch(record);
  if (!record.complete) partial_ = record;
  if (events_) {
    SHEAF_TRY(events_->add(record, state_.step));
  }
  return metrics_ ? metrics_->add(metrics_line(record)) : Result<void>();
}

Result<void> TrainRun::save_checkpoint(const LoopState& state) {
  if (metrics_) {
    SHEAF_TRY(metrics_->sync());
  }
  SHEAF_ASSIGN(auto tensors, read_tensors(learner_->trainer()));
  return folder_->save({identity(), learner_->progress().lr, state}, views_of(tensors));
}

Result<void> TrainRun::write_results() {
  if (!settings_.save.empty()) {
    SHEAF_TRY(model_->save_parameters(settings_.save));
  }
  if (settings_.plot.empty()) return {};
  std::vector<EpochRecord> epochs = state_.epochs.records();
  if (partial_) epochs.push_back(*partial_);
  const int64_t per_epoch = batches_per_epoch(data_->rows(), loop_.batch_size, loop_.drop_last);
  return write_file_atomically(settings_.plot, training_plot(model_->name(), state_.curve, per_epoch, epochs));
}

/// The result on stdout: "resnet18: eval accuracy 0.9176, eval loss 0.2513, train loss 0.2213 after 10 epochs, 14.0 s an
/// epoch, on cpu:0,cpu:1".
void TrainRun::say_end() const {
  const EpochRecord* last = partial_ ? &*partial_ : state_.epochs.records().empty() ? nullptr : &state_.epochs.records().back();
  if (!last) return;
  std::string devices;
  for (const DeviceSpec& device : settings_.devices) devices += (devices.empty() ? "" : ",") + to_string(device);
  std::printf("%s: ", model_->name().c_str());
  if (last->evaluation) std::printf("%s, ", evaluation_text(*last->evaluation).c_str());
  std::printf("train loss %.4g after ", last->train_loss);
  if (partial_) {
    std::printf("%s", steps_text(state_.step).c_str());
  } else {
    std::printf("%s %s, %.3g s an epoch", with_thousands(state_.epoch).c_str(), state_.epoch == 1 ? "epoch" : "epochs",
                state_.epochs.seconds() / static_cast<double>(state_.epoch));
  }
  const double seconds = state_.epochs.seconds() + (partial_ ? partial_->seconds : 0);
  const double waited = state_.epochs.data_wait_seconds() + (partial_ ? partial_->data_wait_seconds : 0);
  std::printf(", %s", wait_text(waited, seconds).c_str());
  if ((settings_.patience > 0 || !settings_.save_best.empty()) && state_.best.epoch > 0)
    std::printf(", best eval %s %.4g in epoch %s", state_.best.by.c_str(), state_.best.value,
                with_thousands(state_.best.epoch).c_str());
  std::printf(", on %s\n", devices.c_str());
}

}  // namespace sheaf
