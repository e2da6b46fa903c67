// sheaf dump MODEL-or-PLAN --format text|mlir|dot|svg|html|json
#include "codegen/plan/compile.h"
#include "runtime/base/file.h"
#include "runtime/device/device_list.h"
#include "runtime/inspect/dump.h"
#include "runtime/options.h"
#include "runtime/plan/check.h"
#include "runtime/plan/reader.h"
#include "runtime/report.h"
#include "tools/verbs.h"

namespace sheaf {
namespace {

constexpr uint64_t kLargestFile = uint64_t{512} << 20;

/// A plan says so in its first bytes; anything else is taken for a model file, whose checks say what is wrong.
Result<Plan> plan_of(const std::string& file) {
  Result<std::string> text = read_file(file, kLargestFile);
  if (!text) return text.error();
  if (text->substr(0, 256).find("\"sheaf-plan\"") != std::string::npos) return parse_plan(file, *text);
  auto model = frontend::parse_model(file, *text);
  if (!model) return model.error();
  CompileOptions shown;
  shown.objects = false;
  return compile(*model, shown);
}

}  // namespace

OptionParser dump_options() {
  OptionParser parser("dump", "Shows where each op of a model or plan runs and why, and what moves between devices.");
  parser.positional("MODEL-or-PLAN", "a model file, or a plan that `sheaf compile` wrote")
      .option("--format", "FORMAT", "how to show it")
      .choices({"text", "mlir", "dot", "svg", "html", "json"})
      .option("--program", "NAME", "which program of the plan")
      .choices({"infer", "train"})
      .option("--devices", "LIST", "a device list: shows each replica with real sizes; needs --batch")
      .option("--batch", "N", "rows of a batch; needs --devices")
      .option("-o", "FILE", "where it goes (default: stdout)")
      .example("which device does what with a batch of 30 on two of them",
               {"sheaf dump models/tutorial.json --format text --devices cpu:0,cpu:1 --batch 30"})
      .example("a page to explore in a browser",
               {"sheaf dump models/resnet18.json --format html --devices cpu:0-1 --batch 32 -o resnet18.html"});
  return parser;
}

int dump_verb(std::span<const std::string> arguments) {
  OptionParser parser = dump_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "dump");
  if (options->help()) return print_help(parser);
  DumpOptions what;
  what.program = options->value("--program");
  if (options->has("--devices") != options->has("--batch"))
    return report_usage(Error("--devices and --batch go together: real sizes depend on both"), "dump");
  if (options->has("--devices")) {
    auto devices = parse_devices(options->value("--devices"));
    if (!devices) return report_usage(devices.error(), "dump");
    for (const DeviceSpec& device : *devices) what.devices.push_back(to_string(device));
    auto batch = options->integer("--batch", 1, int64_t{1} << 40, 0);
    if (!batch) return report_usage(batch.error(), "dump");
    what.batch = *batch;
  }
  Result<Plan> plan = plan_of(options->value("MODEL-or-PLAN"));
  if (!plan) return report(plan.error(), kFailed);
  Result<std::string> shown = dump(*plan, *dump_format_from_name(options->value("--format")), what);
  if (!shown) return report(shown.error(), kFailed);
  if (!options->has("-o")) return print(*shown);
  if (auto written = write_file_atomically(options->value("-o"), *shown); !written) return report(written.error(), kFailed);
  return kDone;
}

}  // namespace sheaf
