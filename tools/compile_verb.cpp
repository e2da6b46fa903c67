// sheaf compile MODEL.json -o FILE.plan
#include "codegen/plan/compile.h"
#include "runtime/base/byte_size.h"
#include "runtime/base/file.h"
#include "runtime/options.h"
#include "runtime/plan/serialize.h"
#include "runtime/report.h"
#include "tools/verbs.h"

#include <algorithm>

namespace sheaf {
OptionParser compile_options() {
  OptionParser parser("compile", "Compiles a model file to an execution plan.");
  parser.positional("MODEL.json", "a model file (docs/model-format.md)")
      .option("-o", "FILE.plan", "where the plan goes")
      .required()
      .option("--precision", "P", "arithmetic of the plan; parameters, statistics and sums stay f32 (docs/precision.md)")
      .choices({"f32", "bf16", "f16"})
      .option("--device-memory", "SIZE", "memory of a device, e.g. 16GiB: an embedding table beyond it goes to the host")
      .example("a plan that serves every device list and batch size", {"sheaf compile models/tutorial.json -o tutorial.plan"})
      .example("the same in bfloat16, for CPUs that have it", {"sheaf compile --precision bf16 models/tutorial.json -o tutorial_bf16.plan"});
  return parser;
}

int compile_verb(std::span<const std::string> arguments) {
  OptionParser parser = compile_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "compile");
  if (options->help()) return print_help(parser);
  CompileOptions compile_options;
  compile_options.precision = options->value("--precision");
  if (options->has("--device-memory")) {
    Result<double> bytes = parse_byte_size(options->value("--device-memory"), "--device-memory");
    if (!bytes) return report_usage(bytes.error(), "compile");
    compile_options.device_memory = static_cast<int64_t>(std::min(*bytes, 0x1p60));
  }
  auto model = frontend::load_model(options->value("MODEL.json"));
  if (!model) return report(model.error(), kFailed);
  std::vector<Diagnostic> warnings;
  Result<Plan> plan = compile(*model, compile_options, &warnings);
  for (const Diagnostic& warning : warnings) report_warning(warning);
  if (!plan) return report(plan.error(), kFailed);
  if (auto written = write_file_atomically(options->value("-o"), serialize(*plan)); !written)
    return report(written.error(), kFailed);
  return kDone;
}

}  // namespace sheaf
