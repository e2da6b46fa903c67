// sheaf dump MODEL-or-PLAN --format text|mlir|dot|svg|html|json|model-explorer|mlir-generic|bound [--diff OLD]
#include "codegen/plan/generic_ir.h"
#include "runtime/base/file.h"
#include "runtime/device/device_list.h"
#include "tools/estimate/bound_text.h"
#include "tools/estimate/memory_over_time.h"
#include "tools/inspect/dump.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"
#include "tools/model_or_plan.h"
#include "tools/verbs.h"

#include <optional>

namespace sheaf {
namespace {

int write(const Options& options, const std::string& text) {
  if (!options.has("-o")) return print(text);
  auto written = write_file_atomically(options.value("-o"), text);
  return written ? kDone : report(written.error(), kFailed);
}

/// The file extension of `format`.
std::vector<std::string> extensions_of(const std::string& format) {
  if (format == "json" || format == "model-explorer") return {".json"};
  if (format == "mlir-generic") return {".mlir"};
  return {format == "text" || format == "bound" ? ".txt" : "." + format};
}

}  // namespace

OptionParser dump_options() {
  OptionParser parser("dump", "Shows where each op of a model or plan runs and why, and what moves between devices.");
  parser.positional("MODEL-or-PLAN", "a model file, or a plan that `sheaf compile` wrote")
      .file(FileUse::input)
      .option("--format", "FORMAT", "how to show it")
      .choices({"text", "mlir", "dot", "svg", "html", "json", "model-explorer", "mlir-generic", "bound"})
      .option("--program", "NAME", "which program of the plan")
      .choices({"infer", "train", "accumulate", "update", "forward", "backward"})
      .option("--devices", "LIST", "a device list: shows each replica with real sizes; needs --batch")
      .option("--batch", "N", "rows of a batch; needs --devices")
      .also("--batch-size")
      .add(length_option)
      .add(shards_option)
      .add(device_model_option)
      .add(bytes_option)
      .option("--diff", "OLD", "show what changed since this model or plan, as text, json, dot, svg or html")
      .file(FileUse::input)
      .flag("--exit-code", "with --diff: exit with status 1 if something changed")
      .option("--trace", "FILE",
              "with --format html: a trace that `sheaf run --trace` or `train --trace` wrote, shown as a timeline")
      .file(FileUse::input)
      .option("-o", "FILE", "output file (default: stdout)")
      .file(FileUse::output)
      .example("which device does what with a batch of 30 on two of them",
               {"sheaf dump models/tutorial.json --format text --devices cpu:0,cpu:1 --batch 30"})
      .example("what binding makes of it there: copies, formats, the lanes' order, memory",
               {"sheaf dump models/tutorial.json --format bound --devices cpu:0,cpu:1 --batch 30"})
      .example("the same on a GPU that isn't there, with its launches",
               {"sheaf dump digits_cnn.plan --format bound --program train --devices cuda:0 --batch 32 --device-model h200"})
      .example("a page to explore in a browser",
               {"sheaf dump models/resnet18.json --format html --devices cpu:0-1 --batch 32 -o resnet18.html"})
      .example("what a narrower model changes",
               {"sheaf dump --diff models/resnet18.json models/resnet18_w8.json --format text"});
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
  auto bind = bind_options(*options);
  if (!bind) return report_usage(bind.error(), "dump");
  what.shards = bind->shards;
  if (what.shards > 0 && !what.batch) return report_usage(Error("--shards goes with --devices and --batch"), "dump");
  auto model = device_model_of(*options);
  if (!model) return report_usage(model.error(), "dump");
  const std::string format_name = options->value("--format"), file = options->value("MODEL-or-PLAN");
  if (options->has("-o")) {
    if (auto ok = check_extension("--format " + format_name + " -o", options->value("-o"), extensions_of(format_name)); !ok)
      return report_usage(ok.error(), "dump");
  }
  const bool generic = format_name == "mlir-generic";
  const DumpFormat format = generic ? DumpFormat::mlir : *dump_format_from_name(format_name);
  const bool compares = options->has("--diff");
  if (options->has("--exit-code") && !compares) return report_usage(Error("--exit-code goes with --diff"), "dump");
  if (format == DumpFormat::bound && !what.batch)
    return report_usage(Error("--format bound needs --devices and --batch: binding is for both"), "dump");
  if (options->has("--device-model") && format != DumpFormat::bound)
    return report_usage(Error("--device-model goes with --format bound: no other format shows what a device chose"), "dump");
  if (options->has("--bytes") && format != DumpFormat::bound)
    return report_usage(Error("--bytes goes with --format bound: no other format shows what crosses the bus"), "dump");
  if (compares && (format == DumpFormat::mlir || format == DumpFormat::model_explorer || format == DumpFormat::bound))
    return report_usage(Error("--diff is shown as text, json, dot, svg or html, not as " + format_name), "dump");
  if (options->has("--trace") && (format != DumpFormat::html || compares))
    return report_usage(Error("--trace goes with --format html, and not with --diff"), "dump");
  CompileOptions compilation;
  compilation.objects = false;
  compilation.only = what.program;
  auto lengths = lengths_of_options(*options);
  if (!lengths) return report_usage(lengths.error(), "dump");
  const bool sizes = what.batch || !lengths->empty();
  Result<Plan> plan = read_model_or_plan(file, compilation);
  if (plan && sizes) plan = sized(*std::move(plan), *lengths);
  if (!plan) return report(plan.error(), kFailed);
  std::optional<Timeline> timeline;
  if (options->has("--trace")) {
    Result<Timeline> read = load_timeline(options->value("--trace"));
    if (!read) return report(read.error(), kFailed);
    timeline = std::move(*read);
    what.timeline = &*timeline;
  }
  if (!compares) {
    if (what.batch) {
      what.memory = [&](const Program& program) {
        return memory_over_time(*plan, program, what.devices, *what.batch, what.shards);
      };
      what.bound = [&](const Program& program) { return bound_text(*plan, program, what.devices, *what.batch, *bind, *model); };
    }
    Result<std::string> shown = dump(*plan, format, what);
    if (shown && generic) shown = generic_ir(*shown);
    return shown ? write(*options, *shown) : report(shown.error(), kFailed);
  }
  Result<Plan> old_plan = read_model_or_plan(options->value("--diff"), compilation);
  if (old_plan && sizes) old_plan = sized(*std::move(old_plan), *lengths);
  if (!old_plan) return report(old_plan.error(), kFailed);
  auto difference = dump_diff({options->value("--diff"), *old_plan}, {file, *plan}, format, what);
  if (!difference) return report(difference.error(), kFailed);
  const int status = write(*options, difference->text);
  return status == kDone && options->has("--exit-code") && !difference->equal ? kFailed : status;
}

}  // namespace sheaf
