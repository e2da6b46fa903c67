#include "tools/train/train_run.h"

#include "runtime/base/file.h"
#include "runtime/base/suggest.h"
#include "runtime/base/version.h"
#include "runtime/device/device_set.h"
#include "runtime/machine/isa.h"
#include "runtime/plan/serialize.h"
#include "runtime/base/sha256.h"
#include "runtime/session/open_devices.h"
#include "runtime/training/plateau.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/report.h"
#include "tools/train/open_rows.h"
#include "tools/train/partial_weights.h"
#include "tools/train/plot.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace sheaf {
namespace {

double model_lr(const Plan& plan) {
  const Json& lr = member_of(member_of(plan.training, "optimizer"), "lr");
  return lr.is_number() ? lr.get<double>() : 0;
}

}  // namespace

TrainRun::TrainRun(TrainSettings settings, std::shared_ptr<ProcessWorld> world)
    : settings_(std::move(settings)), world_(std::move(world)) {
  if (leads()) return;
  settings_.trace = {};
  settings_.metrics = settings_.plot = settings_.tensorboard = {};
}

void TrainRun::say(const std::string& text) const {
  if (leads()) std::fputs((text + "\n").c_str(), stderr);
}

Result<Ending> TrainRun::run() {
  for (const std::string* file : {&settings_.save, &settings_.save_best, &settings_.metrics, &settings_.plot}) {
    if (!leads()) continue;
    SHEAF_TRY(check_output(*file));
  }
  SHEAF_ASSIGN(trace_, settings_.trace.open());
  SHEAF_TRY(load());
  SHEAF_TRY(load_data());
  SHEAF_TRY(compare());

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
  SHEAF_TRY(check_monitor());
  const int64_t per_epoch = batches_per_epoch(data_->rows(), loop_.batch_size, loop_.drop_last);
  if (settings_.epochs > (int64_t{1} << 50) / per_epoch) return Error("--epochs: that many steps can't be counted");
  loop_.steps = settings_.epochs > 0 ? settings_.epochs * per_epoch : settings_.steps;

  BindOptions bind = settings_.bind;
  bind.micro_batches = settings_.micro_batches;
  bind.arenas = make_arena_pool();  // steps and evaluation take turns
  const TrainingProgress progress{0, 0, settings_.lr.value_or(model_lr(model_->plan())), settings_.seed};
  bind.bytes = data_->numbers();
  bind.lengths = lengths_;
  SHEAF_ASSIGN(learner_, ModelLearner::make(*model_, devices_, data_->rows(), loop_.batch_size, progress, bind));
  data_->give_bytes(learner_->trainer().inputs());
  bind.bytes.clear();
  bind.lengths = eval_lengths_;
  learner_->set_trace(trace_);
  if (eval_) {
    // No more rows at a time than in training, whose memory is known to be available.
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
  SHEAF_TRY(open_devices());
  if (!settings_.weights.empty() && !settings_.weights_partial) return load_weights(*model_, settings_.weights);
  SHEAF_TRY(model_->initialise_parameters(settings_.seed));
  return settings_.weights.empty() ? Result<void>() : load_partial_weights(*model_, settings_.weights);
}

/// A schedule driven by evaluations needs some.
Result<void> TrainRun::check_monitor() const {
  const std::string monitor = monitored(model_->plan());
  if (monitor.empty() || monitor == "train_loss" || !settings_.eval.empty()) return {};
  return Error("the model's schedule, ReduceLROnPlateau, follows " + monitor + ", and there is no evaluation")
      .note("give the rows to evaluate on by --eval");
}

/// --best names a result of evaluation.
Result<void> TrainRun::check_best() {
  state_.best.by = settings_.best;
  std::vector<std::string> known = {"loss"};
  for (const Metric metric : loss_.metrics) known.push_back(row_of(metric).name);
  if (std::ranges::find(known, settings_.best) != known.end()) return {};
  return Error("--best " + settings_.best + ": evaluation tells " + quoted_list(known))
      .note("the \"metrics\" of the model file's training section list what it reports besides the loss");
}

Result<void> TrainRun::open_devices() {
  int threads = 0;
  if (world_) {  // the devices of all processes, in the order of their ranks
    std::string own;
    for (const DeviceSpec& device : settings_.devices) own += (own.empty() ? "" : ",") + to_string(device);
    SHEAF_ASSIGN(const auto texts, world_->exchange(own));
    std::vector<std::vector<DeviceSpec>> lists;
    for (const std::string& text : texts) {
      SHEAF_ASSIGN(auto list, parse_devices(text));
      lists.push_back(std::move(list));
    }
    SHEAF_ASSIGN(settings_.devices, joined_lists(lists));
    SHEAF_ASSIGN(threads, cpus_of_all(*world_));
  }
  SHEAF_ASSIGN(auto devices, sheaf::open_devices(settings_.devices, threads, settings_.bind.shards, world_));
  devices_ = std::make_shared<const DeviceSet>(std::move(devices));
  if (const Transport& transport = devices_->transport(); !transport.why_not.empty())
    say("note: data between ranks' devices go " + to_string(transport));
  return {};
}

/// This process's devices with a memory of their own: they make the same program only if they are alike.
std::string others_of(const DeviceSet& devices) {
  std::set<std::string> all;
  for (const LaneId lane : devices.lanes()) {
    Device& device = devices.device(lane);
    if (devices.here(lane) && !devices.in_host_memory(lane))
      all.insert(device.info().model + ", " + device.info().isa + ", " + device.software());
  }
  std::string text;
  for (const std::string& one : all) text += (text.empty() ? "" : "; ") + one;
  return text;
}

/// Before anything is sent that makes sense only between processes with equal settings.
Result<void> TrainRun::compare() const {
  if (!world_) return {};
  const auto number = [](auto value) { return std::to_string(value); };
  const auto text = [](const std::string& given) { return given.empty() ? "not given" : given; };
  const Plan& plan = model_->plan();
  SHEAF_ASSIGN(const auto data, data_->fingerprint());
  uint32_t evaluated = 0;
  if (eval_) {
    SHEAF_ASSIGN(evaluated, eval_->fingerprint());
  }
  return check_alike(*world_, {{"the version of sheaf", version()},
                               {"the MPI library", world_->library()},
                               {"the CPU's instruction set", devices_->host().info().isa},
                               {"the model and driver of devices besides CPUs", text(others_of(*devices_))},
                               {"the plan's hash", sha256(serialize(plan))},
                               {"--batch-size", number(settings_.batch_size)},
                               {"--micro-batches", number(settings_.micro_batches)},
                               {"--epochs", number(settings_.epochs)},
                               {"--steps", number(settings_.steps)},
                               {"--seed", number(settings_.seed)},
                               {"--lr", settings_.lr ? Json(*settings_.lr).dump() : "not given"},
                               {"--no-shuffle", settings_.shuffle ? "not given" : "given"},
                               {"--drop-last", settings_.drop_last ? "given" : "not given"},
                               {"--shards", number(settings_.bind.shards)},
                               {"--numerics", settings_.bind.fast_numerics ? "fast" : "strict"},
                               {"--tune", settings_.bind.tune == Tune::off ? "off" : "given"},
                               {"--weights", text(settings_.weights)},
                               {"--save", text(settings_.save)},
                               {"--save-best", text(settings_.save_best)},
                               {"--best", text(settings_.best)},
                               {"--patience", number(settings_.patience)},
                               {"--weights-partial", settings_.weights_partial ? "given" : "not given"},
                               {"--checkpoint", text(settings_.checkpoint)},
                               {"--checkpoint-every", number(settings_.checkpoint_every)},
                               {"--resume", settings_.resume ? "given" : "not given"},
                               {"the fingerprint of --data", number(data)},
                               {"the fingerprint of --eval", number(evaluated)}});
}

Result<void> TrainRun::load_data() {
  SHEAF_ASSIGN(lengths_, numbers_for(*model_->plan(), settings_.lengths, settings_.data));
  SHEAF_ASSIGN(data_, open_rows(*model_, loss_, "--data", settings_.data, settings_.seed, lengths_));
  if (settings_.eval.empty()) return {};
  SHEAF_ASSIGN(eval_lengths_, numbers_for(*model_->plan(), settings_.lengths, settings_.eval));
  SHEAF_ASSIGN(eval_, open_rows(*model_, loss_, "--eval", settings_.eval, settings_.seed, eval_lengths_));
  return {};
}

Result<Ending> TrainRun::loop() {
  say(settings_text({model_->plan(), settings_, data_->rows(), eval_ ? eval_->rows() : 0, loop_, learner_->progress().lr,
                     devices_->any_asynchronous(), cpu_model_name() + ", " + isa_and_cores(*devices_), resumed_from_}));
  const int64_t per_epoch = batches_per_epoch(data_->rows(), loop_.batch_size, loop_.drop_last);
  if (leads()) display_.emplace(stderr, RunLength{(loop_.steps + per_epoch - 1) / per_epoch, loop_.steps, per_epoch});
  if (!settings_.metrics.empty()) {
    SHEAF_ASSIGN(auto metrics, MetricsFile::open(settings_.metrics, state_.step, state_.epoch));
    metrics_.emplace(std::move(metrics));
  }
  if (!settings_.tensorboard.empty()) {
    SHEAF_ASSIGN(auto events, EventFile::open(settings_.tensorboard, state_.step));
    events_.emplace(std::move(events));
  }
  StopSignals signals;
  int stopped_by = 0, stopped_rank = 0;
  LoopHooks hooks;
  hooks.stopped = [&] {
    stopped_by = signals.caught();
    if (!world_) return stopped_by != 0;
    // All ranks stop after the same step. A world that has ended reports it in the next one.
    const auto caught = world_->exchange(std::to_string(stopped_by));
    stopped_by = 0;
    for (size_t rank = 0; caught && rank < caught->size() && stopped_by == 0; ++rank) {
      stopped_by = std::stoi((*caught)[rank]);
      stopped_rank = static_cast<int>(rank);
    }
    return stopped_by != 0;
  };
  hooks.trace = trace_;
  hooks.step = [&](const StepRecord& record) -> Result<void> {
    if (display_) display_->step(record);
    if (events_) {
      SHEAF_TRY(events_->add(record));
    }
    return metrics_ ? metrics_->add(metrics_line(record)) : Result<void>();
  };
  hooks.epoch = [&](const EpochRecord& record) { return tell_epoch(record); };
  if (evaluator_) hooks.evaluate = [&] { return evaluator_->run(hooks.stopped); };
  if (!settings_.checkpoint.empty()) hooks.save = [&](const LoopState& state) { return save_checkpoint(state); };
  if (!settings_.save_best.empty()) hooks.keep_best = [&] { return save_weights(settings_.save_best); };
  auto ending = train(*learner_, *data_, loop_, hooks, state_);
  if (display_) display_->clear();
  if (metrics_) {
    if (auto ok = metrics_->flush(); !ok && ending) return ok.error();
  }
  if (!ending) return ending;
  if (*ending == Ending::stopped) {
    say("stopped by " + std::string(StopSignals::name(stopped_by)) +
        (world_ ? " to rank " + std::to_string(stopped_rank) : "") + " after step " + with_thousands(state_.step) + " of " +
        with_thousands(loop_.steps) +
        (!settings_.checkpoint.empty()
             ? "; a checkpoint is saved in " + settings_.checkpoint + ": the same command with --resume goes on from it"
             : "; nothing is saved (no --checkpoint was given)"));
    return ending;
  }
  SHEAF_TRY(write_results());
  if (leads()) say_end();
  SHEAF_TRY(settings_.trace.finish(trace_.get()));
  return ending;
}

Result<void> TrainRun::tell_epoch(const EpochRecord& record) {
  if (display_) display_->epoch(record);
  if (!record.complete) partial_ = record;
  if (events_) {
    SHEAF_TRY(events_->add(record, state_.step));
  }
  return metrics_ ? metrics_->add(metrics_line(record)) : Result<void>();
}

/// All ranks read together; rank 0 writes.
Result<void> TrainRun::save_weights(const std::string& file) const {
  if (leads()) return model_->save_parameters(file);
  SHEAF_TRY(model_->read_parameters());
  return {};
}

Result<void> TrainRun::write_results() {
  if (!settings_.save.empty()) {
    SHEAF_TRY(save_weights(settings_.save));
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
