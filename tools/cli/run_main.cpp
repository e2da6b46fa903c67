#include "tools/cli/run_main.h"

#include "runtime/base/file.h"
#include "runtime/check/reader.h"
#include "runtime/data/convert.h"
#include "runtime/data/safetensors.h"
#include "runtime/plan/op_list.h"
#include "runtime/plan/plan.h"
#include "runtime/session/open_devices.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/options.h"
#include "tools/cli/random_ranges.h"
#include "tools/cli/report.h"
#include "tools/cli/rows_request.h"
#include "tools/cli/run_rows.h"
#include "tools/cli/trace_options.h"

#include <algorithm>
#include <cstdio>
#include <map>

namespace sheaf {
namespace {

/// "net float32 [30, 2]: 0.25 -1.5 …"
void print_summary(const std::string& name, const HostTensor& tensor) {
  constexpr size_t kShown = 6;
  std::printf("%s %s %s:", name.c_str(), std::string(name_of(tensor.dtype)).c_str(), shape_text(tensor.shape).c_str());
  const size_t count = tensor.bytes.size() / size_of(tensor.dtype);
  for (size_t i = 0; i < std::min(count, kShown); ++i) std::printf(" %.6g", number_at(tensor, i));
  std::printf(count > kShown ? " …\n" : "\n");
}

bool prints(const Model& model) {
  const auto& steps = model.plan()->infer.steps;
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) { return step.op == Op::print; });
}

Result<void> run(const Options& options, const RowsRequest& request, const LengthNumbers& lengths) {
  SHEAF_TRY(check_output(options.value("--output")));
  const TraceRequest trace(options);
  RowsOptions rows;
  SHEAF_ASSIGN(rows.run.trace, trace.open());
  SHEAF_ASSIGN(auto plan, load_plan(options.value("PLAN")));
  SHEAF_ASSIGN(plan, sized(std::move(plan), lengths, request.sources));
  SHEAF_ASSIGN(auto model, Model::from_plan(std::move(plan)));
  SHEAF_TRY(check_names("--input", "inputs", model.name(), model.inputs(), request.sources));
  SHEAF_ASSIGN(auto devices, open_devices(request.devices));
  SHEAF_TRY(options.has("--weights") ? load_weights(model, options.value("--weights"))
                                     : model.initialise_parameters(request.seed));
  SHEAF_ASSIGN(auto inputs,
               Dataset::open(model.inputs(), request.sources, request.seed, random_ranges(*model.plan()), report_warning));
  rows.batch_size = request.batch_size;
  rows.bind = request.bind;
  SHEAF_ASSIGN(const auto outputs, run_rows(model, std::make_shared<const DeviceSet>(std::move(devices)), inputs, rows));

  if (options.has("--output")) {
    std::vector<std::pair<std::string, const HostTensor*>> named;
    for (size_t i = 0; i < outputs.size(); ++i) named.emplace_back(model.outputs()[i].name, &outputs[i]);
    SHEAF_TRY(write_safetensors(options.value("--output"), named));
  } else if (!prints(model)) {  // a model that prints needs no other output
    for (size_t i = 0; i < outputs.size(); ++i) print_summary(model.outputs()[i].name, outputs[i]);
  }
  return trace.finish(rows.run.trace.get());
}

}  // namespace

OptionParser run_options() {
  OptionParser parser("run", "Runs a compiled plan on rows of data.");
  parser.positional("PLAN", "a file that `sheaf compile` wrote")
      .file(FileUse::input)
      .add(devices_option)
      .required()
      .add(weights_option)
      .option("--input", "NAME=SOURCE", source_help("rows of an input"))
      .file(FileUse::source)
      .repeatable()
      .add(length_option)
      .option("--batch-size", "N", "rows to run at a time (default: all at once)")
      .also("--batch")
      .option("--output", "FILE", "a safetensors file for the outputs; without it they are summarised on stdout")
      .writes({".safetensors"})
      .add(numerics_option)
      .add(tune_option)
      .add(seed_option)
      .add(execution_options)
      .add(add_trace_options);
  parser.example("100 random rows in batches of 30 on three CPU devices",
                 {"sheaf compile models/tutorial.json -o tutorial.plan",
                  "sheaf run tutorial.plan --devices cpu:0-2 --input x=random:100 --batch-size 30"});
  return parser;
}

int run_verb(std::span<const std::string> arguments) {
  const OptionParser parser = run_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "run");
  if (options->help()) return print_help(parser);
  auto request = rows_request(*options, "--input", /*batch_size=*/0);
  if (!request) return report_usage(std::move(request.error()), "run");
  auto lengths = lengths_of_options(*options);
  if (!lengths) return report_usage(std::move(lengths.error()), "run");
  if (auto done = run(*options, *request, *lengths); !done) return report(done.error(), kFailed);
  return finish_stdout();
}

}  // namespace sheaf
