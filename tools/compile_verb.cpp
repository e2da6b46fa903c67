// sheaf compile MODEL.json -o FILE.plan
#include "runtime/base/file.h"
#include "tools/cli/options.h"
#include "runtime/plan/serialize.h"
#include "tools/cli/report.h"
#include "tools/compilation_options.h"
#include "tools/verbs.h"

namespace sheaf {
OptionParser compile_options() {
  OptionParser parser("compile", "Compiles a model file to an execution plan.");
  parser.positional("MODEL.json", "a model file (docs/model-format.md)")
      .file(FileUse::input)
      .option("-o", "FILE.plan", "the plan file to write")
      .file(FileUse::output)
      .required()
      .add(compilation_options)
      .example("a plan that serves every device list and batch size", {"sheaf compile models/tutorial.json -o tutorial.plan"})
      .example("the same in bfloat16, for CPUs that have it",
               {"sheaf compile --precision bf16 models/tutorial.json -o tutorial_bf16.plan"});
  return parser;
}

int compile_verb(std::span<const std::string> arguments) {
  OptionParser parser = compile_options();
  Result<Options> options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "compile");
  if (options->help()) return print_help(parser);
  auto compilation = compilation_of(*options);
  if (!compilation) return report_usage(compilation.error(), "compile");
  auto model = frontend::load_model(options->value("MODEL.json"));
  if (!model) return report(model.error(), kFailed);
  CompileReport said;
  Result<Plan> plan = compile(*model, *compilation, &said);
  for (const Diagnostic& warning : said.warnings) report_warning(warning);
  if (!plan) return report(plan.error(), kFailed);
  if (auto written = write_file_atomically(options->value("-o"), serialize(*plan)); !written)
    return report(written.error(), kFailed);
  return kDone;
}

}  // namespace sheaf
