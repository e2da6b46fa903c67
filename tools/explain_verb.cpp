// sheaf explain MODEL-or-PLAN [LAYER]
#include "runtime/device/device_list.h"
#include "tools/cli/execution_options.h"
#include "tools/explain/explain.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"
#include "tools/model_or_plan.h"
#include "tools/verbs.h"

namespace sheaf {
namespace {

std::string json_text(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

template <typename Found>
int print_found(const Result<Found>& found, bool json) {
  if (!found) return report(found.error(), kFailed);
  return print(json ? json_text(to_json(*found)) : print_text(*found));
}

}  // namespace

OptionParser explain_options() {
  OptionParser parser("explain", "Shows where each layer runs and why, what computes it, in which layouts and at what cost.");
  parser.positional("MODEL-or-PLAN", "a model file, or a plan that `sheaf compile` wrote")
      .file(FileUse::input)
      .optional_positional("LAYER", "a layer, or a group of layers (default: all)")
      .option("--devices", "LIST", "a device list: shows implementations, layouts and costs; needs --batch")
      .option("--batch", "N", "rows of a batch; needs --devices")
      .also("--batch-size")
      .add(length_option)
      .add(device_model_option)
      .option("--op", "OP", "only layers with this op: a layer's type, scatter, reorder, kernel, …")
      .option("--device", "D", "only what is on this device")
      .option("--why", "NODE", "explain why this node is there: an id that `sheaf dump --format json` shows")
      .option("--program", "NAME", "which program of the plan")
      .choices({"infer", "train"})
      .add(numerics_option)
      .add(tune_option)
      .add(deterministic_option)
      .add(bytes_option)
      .flag("--json", "print JSON")
      .example("what becomes of a convolution",
               {"sheaf explain models/resnet18.json resnet_block1.0.conv1 --devices cpu:0,cpu:1 --batch 32"})
      .example("why the input is scattered",
               {"sheaf explain models/tutorial.json --op scatter", "sheaf explain models/tutorial.json --why s0"});
  return parser;
}

int explain_verb(std::span<const std::string> arguments) {
  OptionParser parser = explain_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "explain");
  if (options->help()) return print_help(parser);
  if (options->has("--devices") != options->has("--batch"))
    return report_usage(Error("--devices and --batch go together: implementations depend on both"), "explain");
  if (options->has("--device-model") && !options->has("--devices"))
    return report_usage(Error("--device-model describes the GPUs of --devices: it needs that option"), "explain");
  ExplainRequest request;
  request.layer = options->value("LAYER");
  request.op = options->value("--op");
  request.device = options->value("--device");
  request.program = options->value("--program");
  auto model = device_model_of(*options);
  if (!model) return report_usage(model.error(), "explain");
  request.device_model = *model;
  auto bind = bind_options(*options);
  if (!bind) return report_usage(bind.error(), "explain");
  request.bind = *bind;
  if (options->has("--why") && (options->has("LAYER") || options->has("--op") || options->has("--device")))
    return report_usage(Error("--why explains one node: LAYER, --op and --device don't go with it"), "explain");
  if (options->has("--devices")) {
    auto devices = parse_devices(options->value("--devices"));
    if (!devices) return report_usage(devices.error(), "explain");
    for (const DeviceSpec& device : *devices) request.devices.push_back(to_string(device));
    auto batch = options->integer("--batch", 1, int64_t{1} << 40, 0);
    if (!batch) return report_usage(batch.error(), "explain");
    request.batch = *batch;
  }
  const bool asks_why = options->has("--why"), binds = !asks_why && !request.devices.empty();
  CompileOptions compilation;
  compilation.objects = binds;
  compilation.only = request.program;
  auto lengths = lengths_of_options(*options);
  if (!lengths) return report_usage(lengths.error(), "explain");
  Result<Plan> plan = read_model_or_plan(options->value("MODEL-or-PLAN"), compilation);
  if (plan && (binds || !lengths->empty())) plan = sized(*std::move(plan), *lengths);
  if (!plan) return report(plan.error(), kFailed);
  const bool json = options->has("--json");
  if (asks_why) return print_found(why(*plan, request, options->value("--why")), json);
  return print_found(explain(*plan, request), json);
}

}  // namespace sheaf
