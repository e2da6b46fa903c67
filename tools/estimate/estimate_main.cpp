#include "tools/estimate/estimate_main.h"

#include "runtime/base/byte_size.h"
#include "runtime/device/device_set.h"
#include "runtime/session/open_devices.h"
#include "tools/estimate/cluster_estimate.h"
#include "tools/estimate/print_estimate.h"
#include "tools/cli/execution_options.h"
#include "runtime/check/reader.h"
#include "tools/cli/report.h"

#include <algorithm>

namespace sheaf {
namespace {

/// No batch has more rows.
constexpr int64_t kMostRows = int64_t{1} << 40;

constexpr const char* kPrograms[] = {"infer", "train", "accumulate", "update"};

bool is_program(const std::string& name) {
  return std::find(std::begin(kPrograms), std::end(kPrograms), name) != std::end(kPrograms);
}

/// `train` if the plan has it and nothing else is requested.
Result<const Program*> program_of(const Plan& plan, const Options& options) {
  const Program* all[] = {&plan.infer, &plan.train, &plan.accumulate, &plan.update};
  if (!options.has("--program")) return plan.train.steps.empty() ? &plan.infer : &plan.train;
  const std::string& name = options.value("--program");
  const auto index = static_cast<size_t>(std::find(std::begin(kPrograms), std::end(kPrograms), name) - std::begin(kPrograms));
  if (index == 0 || !all[index]->steps.empty()) return all[index];
  return Error({plan.file},
               "the plan has no program '" + name + "': its model has no `training` section, or an older sheaf compiled it");
}

/// The option that says where the step runs: a list of devices or a cluster. Errors are the command line's fault.
Result<void> check_place(const Options& options) {
  if (!options.has("--cluster")) {
    if (options.has("--devices")) return {};
    return Error("--devices or --cluster is missing: one of them says where the step runs");
  }
  for (const char* other : {"--devices", "--device-model", "--memory"}) {
    if (options.has(other))
      return Error(std::string(other) + " and --cluster don't go together: the cluster's file names its devices");
  }
  if (options.has("--program") && options.value("--program") != "train")
    return Error("--program " + options.value("--program") +
                 " and --cluster don't go together: strategies are of a training step");
  return {};
}

int estimate_for_cluster(const Plan& plan, const Options& options, int64_t batch, EstimateOptions how) {
  auto cluster = read_cluster(options.value("--cluster"));
  if (!cluster) return report(cluster.error(), kFailed);
  if (options.has("--describe")) {
    auto described = read_devices(options.value("--describe"), cluster->device == "cpu" ? "" : cluster->device);
    if (!described) return report(described.error(), kFailed);
    how.description = std::move(*described);
  }
  auto made = estimate_cluster(plan, *cluster, batch, std::move(how));
  if (!made) return report(made.error(), kFailed);
  return print(options.has("--json") ? cluster_json(*made) : cluster_text(*made));
}

}  // namespace

OptionParser estimate_options() {
  OptionParser parser("estimate",
                      "Predicts what a plan needs on given devices, without touching them: memory, work, data moved, time.");
  parser.positional("PLAN", "a file that `sheaf compile` wrote")
      .file(FileUse::input)
      .add(devices_option)
      .option("--cluster", "FILE",
              "instead of devices: a training step with every strategy on the machines that FILE describes")
      .file(FileUse::input)
      .add(shards_option)
      .add(device_model_option)
      .option("--batch", "N", "rows of a batch")
      .also("--batch-size")
      .required()
      .add(length_option)
      .option("--program", "NAME",
              "infer or train (default: train if the plan has it), or a micro-batched step's accumulate or update")
      .add(numerics_option)
      .add(deterministic_option)
      .add(bytes_option)
      .option("--memory", "SIZE", "find the largest batch with which no device needs more: 80GiB, 16e9")
      .option("--describe", "FILE", "the devices' rates, as written by `sheaf bench --calibrate`; without it, a guess")
      .file(FileUse::input)
      .flag("--json", "print one JSON object")
      .example("what a training step of 32 rows takes on two devices",
               {"sheaf compile models/digits_cnn.json -o digits_cnn.plan",
                "sheaf estimate digits_cnn.plan --devices cpu:0,cpu:1 --batch 32"})
      .example("the largest batch that fits 64 MiB a device",
               {"sheaf compile models/digits_cnn.json -o digits_cnn.plan",
                "sheaf estimate digits_cnn.plan --devices cpu:0,cpu:1 --batch 32 --memory 64MiB"})
      .example("memory, launches and time on two GPUs that aren't here",
               {"sheaf compile models/digits_cnn.json -o digits_cnn.plan",
                "sheaf estimate digits_cnn.plan --devices cuda:0,cuda:1 --batch 64 --device-model h100"});
  return parser;
}

int estimate_verb(std::span<const std::string> arguments) {
  const OptionParser parser = estimate_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "estimate");
  if (options->help()) return print_help(parser);
  const auto usage = [](Error error) { return report_usage(std::move(error), "estimate"); };
  if (auto place = check_place(*options); !place) return usage(std::move(place.error()));
  std::vector<DeviceSpec> list;
  if (options->has("--devices")) {
    auto parsed = parse_devices(options->value("--devices"));
    if (!parsed) return usage(std::move(parsed.error()));
    list = std::move(*parsed);
  }
  auto batch = options->integer("--batch", 1, kMostRows, 0);
  if (!batch) return usage(std::move(batch.error()));
  auto bind = bind_options(*options);
  if (!bind) return usage(std::move(bind.error()));
  double memory = 0;
  if (options->has("--memory")) {
    auto size = parse_byte_size(options->value("--memory"), "--memory");
    if (!size) return usage(std::move(size.error()));
    memory = *size;
  }
  if (options->has("--program") && !is_program(options->value("--program"))) {
    return usage(Error("--program: '" + options->value("--program") + "' is none of infer, train, accumulate and update"));
  }

  auto model = device_model_of(*options);
  if (!model) return usage(std::move(model.error()));

  auto lengths = lengths_of_options(*options);
  if (!lengths) return usage(std::move(lengths.error()));
  auto plan = load_plan(options->value("PLAN"));
  if (plan) plan = sized(*std::move(plan), *lengths);
  if (!plan) return report(plan.error(), kFailed);
  EstimateOptions how;
  how.bind = *bind;
  if (options->has("--cluster")) return estimate_for_cluster(*plan, *options, *batch, std::move(how));
  auto program = program_of(*plan, *options);
  if (!program) return report(program.error(), kFailed);
  how.device_model = *model;
  if (options->has("--describe")) {
    auto described = read_devices(options->value("--describe"), how.device_model);
    if (!described) return report(described.error(), kFailed);
    how.description = std::move(*described);
  }
  auto devices = plan_devices(list, 0, bind->shards, how.device_model);
  if (!devices) return report(devices.error(), kFailed);
  std::vector<std::string> names;
  for (const DeviceSpec& device : list) names.push_back(to_string(device));
  auto made = estimate(*plan, **program, names, *devices, *batch, how);
  if (!made) return report(made.error(), kFailed);
  std::optional<LargestBatch> largest;
  if (memory > 0) largest = largest_batch(*plan, **program, *devices, *made, memory, how);
  const LargestBatch* found = largest ? &*largest : nullptr;
  return print(options->has("--json") ? estimate_json(*made, found) : estimate_text(*made, found));
}

}  // namespace sheaf
