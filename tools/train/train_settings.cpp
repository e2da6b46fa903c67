#include "tools/train/train_settings.h"

#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/train/display.h"
#include "runtime/plan/parameter_groups.h"
#include "runtime/plan/strategy.h"
#include "runtime/training/loss_section.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace sheaf {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;

Result<std::optional<double>> learning_rate_of(const Options& options) {
  if (!options.has("--lr")) return std::optional<double>();
  const std::string& text = options.value("--lr");
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc() && end == text.data() + text.size() && std::isfinite(value) && value >= 0)
    return std::optional(value);
  return Error("--lr: '" + text + "' is not a number from 0 up");
}

/// Options that mean nothing without another one.
Result<void> check_companions(const Options& options) {
  if (options.has("--epochs") == options.has("--steps"))
    return Error(options.has("--epochs") ? "--epochs and --steps: give one of them" : "how long? Give --epochs E or --steps K");
  for (const char* name : {"--resume", "--keep", "--checkpoint-every"}) {
    if (options.has(name) && !options.has("--checkpoint")) return Error(std::string(name) + " needs --checkpoint DIR");
  }
  for (const char* name : {"--save-best", "--best", "--patience"}) {
    if (options.has(name) && !options.has("--eval")) return Error(std::string(name) + " needs --eval NAME=SOURCE");
  }
  if (options.has("--weights-partial") && !options.has("--weights")) return Error("--weights-partial needs --weights FILE");
  return {};
}

std::string list_of(const std::vector<DeviceSpec>& devices) {
  std::string text;
  for (const DeviceSpec& device : devices) text += (text.empty() ? "" : ", ") + to_string(device);
  return devices.empty() ? "cpu" : text;
}

std::string sources_text(const std::map<std::string, std::string>& sources, int64_t rows) {
  std::string text = with_thousands(rows) + (rows == 1 ? " row" : " rows");
  for (const auto& [name, source] : sources) text += ", " + name + "=" + source;
  return text;
}

}  // namespace

OptionParser train_options() {
  OptionParser parser("train", "Trains the model of a compiled plan on rows of data (docs/train.md).");
  parser.positional("PLAN", "a file that `sheaf compile` wrote, of a model with a training section")
      .file(FileUse::input)
      .add(devices_option)
      .required()
      .add(shards_option)
      .option("--data", "NAME=SOURCE", source_help("rows of an input or target"))
      .file(FileUse::source)
      .repeatable()
      .option("--batch-size", "N", "rows of a step; the last step of an epoch takes the rest")
      .also("--batch")
      .required()
      .add(length_option)
      .option("--micro-batches", "M",
              "run each step's batch in M parts, one after another, and update once: less memory (default 1)")
      .option("--epochs", "E", "passes over all rows")
      .option("--steps", "K", "or the number of steps, over as many epochs as needed")
      .option("--eval", "NAME=SOURCE", "rows to evaluate on after each epoch, named as for --data")
      .file(FileUse::source)
      .repeatable()
      .option("--best", "METRIC", "compare evaluations by loss or by one of the model file's metrics (default loss)")
      .option("--patience", "N", "end the run after N epochs without a better evaluation")
      .option("--lr", "X", "learning rate, instead of the model file's")
      .flag("--no-shuffle", "keep the rows in order; otherwise each epoch shuffles them, by --seed")
      .flag("--drop-last", "leave out an epoch's last rows if they don't fill a batch")
      .add(numerics_option)
      .add(tune_option)
      .add(seed_option)
      .group("Files")
      .add(weights_option)
      .flag("--weights-partial",
            "use the tensors of --weights that match a parameter's name and shape; draw the other parameters from --seed, and "
            "list them")
      .option("--save", "FILE", "a safetensors file for parameters and buffers at the end, under PyTorch's names")
      .writes({".safetensors"})
      .option("--save-best", "FILE", "the same from the best epoch, written whenever an evaluation is the best so far")
      .writes({".safetensors"})
      .option("--metrics", "FILE", "one JSON object per line for each step and epoch, written during training")
      .writes({".jsonl", ".json"})
      .option("--plot", "FILE", "a picture of loss and metrics, SVG")
      .writes({".svg"})
      .option("--tensorboard", "DIR", "a folder for TensorBoard; adds an event file with losses, rates and evaluations")
      .file(FileUse::folder)
      .group("Checkpoints")
      .option("--checkpoint", "DIR", "a folder for checkpoints, one after each epoch")
      .file(FileUse::folder)
      .option("--checkpoint-every", "STEPS", "also write a checkpoint every STEPS steps")
      .option("--keep", "N", "how many checkpoints to keep (default 3)")
      .flag("--resume", "continue from the newest checkpoint in DIR, as if the run had never stopped");
  parser.add(execution_options)
      .add(add_trace_options)
      .example(
          "two epochs on random rows, on two CPU devices",
          {"sheaf compile models/data_parallel_model.json -o model.plan",
           "sheaf train model.plan --devices cpu:0,cpu:1 --data x=random:128 --data y=random:128 --batch-size 32 --epochs 2 "
           "--save trained.safetensors"});
  return parser;
}

Result<TrainSettings> train_settings(const Options& options) {
  SHEAF_TRY(check_companions(options));
  SHEAF_TRY(TraceRequest::check(options));
  TrainSettings settings;
  settings.plan = options.value("PLAN");
  SHEAF_ASSIGN(auto devices, parse_devices(options.value("--devices")));
  settings.devices = std::move(devices);
  for (const auto& [name, sources] : {std::pair{"--data", &settings.data}, std::pair{"--eval", &settings.eval}}) {
    SHEAF_ASSIGN(auto named, named_sources(name, options.values(name)));
    *sources = std::move(named);
  }
  int64_t keep = 3, seed = 0;
  const struct {
    const char* name;
    int64_t* value;
    int64_t least, most;
  } numbers[] = {{"--batch-size", &settings.batch_size, 1, kMost},
                 {"--micro-batches", &settings.micro_batches, 1, kMost},
                 {"--epochs", &settings.epochs, 1, kMost},
                 {"--steps", &settings.steps, 1, kMost},
                 {"--checkpoint-every", &settings.checkpoint_every, 1, kMost},
                 {"--patience", &settings.patience, 1, kMost},
                 {"--keep", &keep, 1, 1'000'000},
                 {"--seed", &seed, 0, std::numeric_limits<int64_t>::max()}};
  for (const auto& entry : numbers) {
    SHEAF_ASSIGN(auto value, options.integer(entry.name, entry.least, entry.most, *entry.value));
    *entry.value = value;
  }
  if (settings.micro_batches > settings.batch_size) {
    return Error("--micro-batches " + std::to_string(settings.micro_batches) + ": a batch has only " +
                 std::to_string(settings.batch_size) + (settings.batch_size == 1 ? " row" : " rows") + " (--batch-size)");
  }
  settings.keep = static_cast<int>(keep);
  settings.seed = static_cast<uint64_t>(seed);
  SHEAF_ASSIGN(auto lr, learning_rate_of(options));
  settings.lr = lr;
  settings.weights = options.value("--weights");
  settings.save = options.value("--save");
  settings.save_best = options.value("--save-best");
  settings.tensorboard = options.value("--tensorboard");
  settings.weights_partial = options.has("--weights-partial");
  if (options.has("--best")) settings.best = options.value("--best");
  settings.metrics = options.value("--metrics");
  settings.plot = options.value("--plot");
  settings.checkpoint = options.value("--checkpoint");
  settings.resume = options.has("--resume");
  settings.shuffle = !options.has("--no-shuffle");
  settings.drop_last = options.has("--drop-last");
  SHEAF_ASSIGN(auto bind, bind_options(options));
  settings.bind = bind;
  SHEAF_ASSIGN(settings.lengths, lengths_of_options(options));
  settings.trace = TraceRequest(options);
  return settings;
}

std::string settings_text(const SettingsInForce& in_force) {
  const TrainSettings& settings = in_force.settings;
  const Json& training = in_force.plan.training;
  std::string text = "training " + in_force.plan.name + " (" + settings.plan + ")\n";
  const auto row = [&](const std::string& name, const std::string& value) {
    text += "  " + name + std::string(name.size() < 15 ? 15 - name.size() : 1, ' ') + value + "\n";
  };
  const int shards = settings.bind.shards;
  row("devices", list_of(settings.devices) + (!is_host_only(settings.devices) ? ""
                                              : shards > 0                    ? " (host-only)"
                                                                              : " (host-only, unpartitioned)"));
  if (shards > 0) row("shards", std::to_string(shards) + ": the same bits on every device list");
  row("CPU", in_force.cpu);
  row("data", sources_text(settings.data, in_force.rows));
  const int64_t batch = std::min(settings.batch_size, in_force.rows), rest = in_force.rows % batch;
  const int64_t per_epoch = batches_per_epoch(in_force.rows, batch, settings.drop_last);
  row("batch size", with_thousands(settings.batch_size) + ", " + with_thousands(per_epoch) +
                        (per_epoch == 1 ? " step" : " steps") + " an epoch" +
                        (rest > 0 && settings.drop_last ? ", " + with_thousands(rest) + " rows dropped"
                         : rest > 0                     ? ", the last of " + with_thousands(rest)
                         : batch < settings.batch_size  ? " of " + with_thousands(batch)
                                                        : ""));
  if (settings.micro_batches > 1) {
    const int64_t part = (batch + settings.micro_batches - 1) / settings.micro_batches, parts = (batch + part - 1) / part;
    row("micro-batches", with_thousands(parts) + " of " + with_thousands(part) +
                             (batch % part > 0 ? ", the last of " + with_thousands(batch % part) : "") + ", then one update");
  }
  row("length",
      (settings.epochs > 0 ? with_thousands(settings.epochs) + (settings.epochs == 1 ? " epoch, " : " epochs, ") : "") +
          with_thousands(in_force.loop.steps) + (in_force.loop.steps == 1 ? " step" : " steps"));
  row("order", settings.shuffle ? "shuffled anew each epoch" : "as given (--no-shuffle)");
  Json call = {{"type", member_of(member_of(training, "loss"), "type")}};
  for (const auto& [name, value] : member_of(member_of(training, "loss"), "arguments").items()) call[name] = value;
  row("loss", call_text(call));
  Json optimizer = member_of(training, "optimizer");
  const Json groups = member_of(optimizer, "parameter_groups");
  if (optimizer.is_object()) {
    optimizer["lr"] = in_force.lr;
    optimizer.erase("parameter_groups");
  }
  row("optimizer", call_text(optimizer));
  const std::vector<GroupRate> rates = group_rates(in_force.plan, in_force.lr);
  for (size_t i = 0; groups.is_array() && i < groups.size(); ++i) {
    Json group = groups[i];
    const size_t count = member_of(group, "parameters").size();
    if (group.is_object()) group.erase("parameters");
    if (const auto rate = std::ranges::find(rates, group_rate_setting(i), &GroupRate::setting); rate != rates.end())
      group["lr"] = rate->lr;
    row("group", std::to_string(count) + (count == 1 ? " parameter: " : " parameters: ") + call_text(group));
  }
  row("schedule", call_text(member_of(training, "schedule")));
  if (const Json& clip = member_of(training, "clip_grad_norm"); !clip.is_null()) row("clip_grad_norm", clip.dump());
  row("precision", in_force.plan.precision);
  if (const Strategy strategy = strategy_of(in_force.plan); strategy != Strategy()) row("strategy", to_string(strategy));
  const BindOptions& bind = settings.bind;
  const bool gpus = in_force.gpus;
  row("numerics", std::string(bind.fast_numerics ? "fast" : "strict") + (!gpus                ? ""
                                                                         : bind.fast_numerics ? ", TF32 products on GPUs"
                                                                                              : ", no TF32 on GPUs"));
  if (bind.tune != Tune::off)
    row("implementations", std::string("measured (--tune ") + (bind.tune == Tune::full ? "full)" : "quick)"));
  if (gpus) {
    row("graphs",
        bind.graphs ? "recorded at the second step, then replayed" : "none (--no-graphs): each operation is handed over");
    row("deterministic", bind.deterministic
                             ? "yes: no sums whose order depends on timing; `sheaf explain` shows what is slower for it"
                             : "no (--no-deterministic): runs may differ in rounding");
  }
  row("seed", std::to_string(settings.seed));
  row("weights", !in_force.checkpoint.empty() ? in_force.checkpoint
                 : settings.weights.empty()   ? "drawn from the seed"
                                              : settings.weights + (settings.weights_partial ? ", as far as it fits" : ""));
  if (!settings.eval.empty()) row("evaluation", sources_text(settings.eval, in_force.eval_rows) + ", after each epoch");
  if (settings.patience > 0 || !settings.save_best.empty()) {
    row("best", "by eval " + settings.best +
                    (settings.patience > 0 ? "; ends after " + with_thousands(settings.patience) +
                                                 (settings.patience == 1 ? " epoch" : " epochs") + " without a better one"
                                           : "") +
                    (settings.save_best.empty() ? "" : "; kept in " + settings.save_best));
  }
  if (!settings.checkpoint.empty()) {
    row("checkpoints",
        settings.checkpoint + ", after each epoch" +
            (settings.checkpoint_every > 0 ? " and each " + with_thousands(settings.checkpoint_every) + " steps" : "") +
            ", the last " + std::to_string(settings.keep) + " kept");
  }
  return text;
}

}  // namespace sheaf
