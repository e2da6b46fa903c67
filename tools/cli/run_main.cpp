#include "tools/cli/run_main.h"

#include "runtime/base/file.h"
#include "runtime/data/convert.h"
#include "runtime/data/safetensors.h"
#include "runtime/plan/op_list.h"
#include "runtime/session/open_devices.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/options.h"
#include "runtime/plan/plan.h"
#include "tools/cli/random_ranges.h"
#include "tools/cli/report.h"
#include "tools/cli/run_rows.h"
#include "tools/cli/trace_options.h"

#include <algorithm>
#include <cstdio>
#include <limits>
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
      .option("--batch-size", "N", "rows sent through at a time (default: all at once)")
      .also("--batch")
      .option("--output", "FILE", "where the outputs go, a safetensors file; without it they are summarised on stdout")
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
  auto list = parse_devices(options->value("--devices"));
  if (!list) return report_usage(std::move(list.error()), "run");
  auto batch_size = options->integer("--batch-size", 1, int64_t{1} << 40, 0);
  if (!batch_size) return report_usage(std::move(batch_size.error()), "run");
  auto seed = options->integer("--seed", 0, std::numeric_limits<int64_t>::max(), 0);
  if (!seed) return report_usage(std::move(seed.error()), "run");
  auto bind = bind_options(*options);
  if (!bind) return report_usage(std::move(bind.error()), "run");
  auto sources = named_sources("--input", options->values("--input"));
  if (!sources) return report_usage(std::move(sources.error()), "run");

  if (auto ok = TraceRequest::check(*options); !ok) return report_usage(std::move(ok.error()), "run");
  if (auto ok = check_output(options->value("--output")); !ok) return report(ok.error(), kFailed);
  const TraceRequest trace(*options);
  auto opened = trace.open();
  if (!opened) return report(opened.error(), kFailed);
  auto model = Model::load(options->value("PLAN"));
  if (!model) return report(model.error(), kFailed);
  if (auto ok = check_names("--input", "inputs", model->name(), model->inputs(), *sources); !ok)
    return report(ok.error(), kFailed);
  auto devices = open_devices(*list);
  if (!devices) return report(devices.error(), kFailed);
  auto weights = options->has("--weights") ? load_weights(*model, options->value("--weights"))
                                           : model->initialise_parameters(static_cast<uint64_t>(*seed));
  if (!weights) return report(weights.error(), kFailed);
  auto inputs =
      Dataset::open(model->inputs(), *sources, static_cast<uint64_t>(*seed), random_ranges(*model->plan()), report_warning);
  if (!inputs) return report(inputs.error(), kFailed);

  RowsOptions rows;
  rows.batch_size = *batch_size;
  rows.bind = *bind;
  rows.run.trace = std::move(*opened);
  auto outputs = run_rows(*model, std::make_shared<const DeviceSet>(std::move(*devices)), *inputs, rows);
  if (!outputs) return report(outputs.error(), kFailed);

  if (options->has("--output")) {
    std::vector<std::pair<std::string, const HostTensor*>> named;
    for (size_t i = 0; i < outputs->size(); ++i) named.emplace_back(model->outputs()[i].name, &(*outputs)[i]);
    if (auto ok = write_safetensors(options->value("--output"), named); !ok) return report(ok.error(), kFailed);
  } else if (!prints(*model)) {  // a model that prints speaks for itself
    for (size_t i = 0; i < outputs->size(); ++i) print_summary(model->outputs()[i].name, (*outputs)[i]);
  }
  if (auto ok = trace.finish(rows.run.trace.get()); !ok) return report(ok.error(), kFailed);
  return finish_stdout();
}

}  // namespace sheaf
