#include "tools/train/eval_main.h"

#include "runtime/session/open_devices.h"
#include "runtime/training/evaluator.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/report.h"
#include "tools/cli/rows_request.h"
#include "tools/cli/trace_options.h"
#include "tools/train/display.h"
#include "tools/train/open_rows.h"

#include <algorithm>
#include <cstdio>

namespace sheaf {
namespace {

constexpr int64_t kRowsAtATime = 256;

std::string json_text(const std::string& model, const Evaluation& found) {
  Json json = {{"model", model}, {"rows", found.rows}, {"seconds", found.seconds}};
  json["loss"] = found.loss ? Json(*found.loss) : Json();
  for (const auto& [metric, value] : found.metrics) json[row_of(metric).name] = value;
  return json.dump();
}

/// What provides the rows: the first of the loss's targets, or else the first input.
const std::string& source_of(const LossSection& loss, const RowsRequest& request) {
  for (const LossInput& input : loss.inputs)
    if (!input.output) return request.sources.at(input.name);
  return request.sources.begin()->second;
}

Result<void> evaluate(const Options& options, const RowsRequest& request, const LengthNumbers& lengths) {
  const TraceRequest trace(options);
  SHEAF_ASSIGN(const auto opened, trace.open());
  SHEAF_ASSIGN(auto model, Model::load(options.value("PLAN")));
  SHEAF_ASSIGN(LossSection loss, loss_section(*model.plan()));
  loss.metrics = all_metrics(loss);
  SHEAF_TRY(check_names("--data", "inputs and targets", model.name(), training_values(model.plan()), request.sources));
  SHEAF_ASSIGN(auto devices, open_devices(request.devices));
  if (options.has("--weights")) {
    SHEAF_TRY(load_weights(model, options.value("--weights")));
  } else {
    report_warning({Severity::warning, {}, "without --weights the model has initial weights, drawn from --seed", {}, {}});
    SHEAF_TRY(model.initialise_parameters(request.seed));
  }
  BindOptions bind = request.bind;
  SHEAF_ASSIGN(bind.lengths, numbers_for(*model.plan(), lengths, request.sources));
  SHEAF_ASSIGN(Dataset data, open_rows(model, loss, "--data", request.sources, request.seed, bind.lengths));
  SHEAF_ASSIGN(auto evaluator, Evaluator::make(model, std::make_shared<const DeviceSet>(std::move(devices)), data, loss,
                                               request.batch_size, bind));
  evaluator.set_trace(opened);
  SHEAF_ASSIGN(const auto found, evaluator.run([] { return false; }));
  if (options.has("--json")) {
    std::printf("%s\n", json_text(model.name(), *found).c_str());
  } else {
    std::printf("%s: %s on %s %s of %s, %.3g s\n", model.name().c_str(), evaluation_text(*found, "").c_str(),
                with_thousands(found->rows).c_str(), found->rows == 1 ? "row" : "rows", source_of(loss, request).c_str(),
                found->seconds);
  }
  return trace.finish(opened.get());
}

}  // namespace

OptionParser eval_options() {
  OptionParser parser("eval", "Measures a model's loss and metrics on rows with known targets (docs/train.md).");
  parser.positional("PLAN", "a file that `sheaf compile` wrote, of a model with a training section")
      .file(FileUse::input)
      .add(devices_option)
      .required()
      .option("--data", "NAME=SOURCE", source_help("rows of an input or target"))
      .file(FileUse::source)
      .repeatable()
      .add(weights_option)
      .option("--batch-size", "N", "rows to run at a time (default 256)")
      .also("--batch")
      .add(length_option)
      .flag("--json", "one JSON object")
      .add(numerics_option)
      .add(tune_option)
      .add(seed_option)
      .add(execution_options)
      .add(add_trace_options);
  parser.example(
      "a trained model, on the rows that it was trained on",
      {"sheaf compile models/data_parallel_model.json -o model.plan",
       "sheaf train model.plan --devices cpu:0 --data x=random:128 --data y=random:128 --batch-size 32 --epochs 2 "
       "--save trained.safetensors",
       "sheaf eval model.plan --devices cpu:0,cpu:1 --data x=random:128 --data y=random:128 --weights trained.safetensors"});
  return parser;
}

int eval_verb(std::span<const std::string> arguments) {
  const OptionParser parser = eval_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(std::move(options.error()), "eval");
  if (options->help()) return print_help(parser);
  auto request = rows_request(*options, "--data", kRowsAtATime);
  if (!request) return report_usage(std::move(request.error()), "eval");
  auto lengths = lengths_of_options(*options);
  if (!lengths) return report_usage(std::move(lengths.error()), "eval");
  if (auto done = evaluate(*options, *request, *lengths); !done) return report(done.error(), kFailed);
  return finish_stdout();
}

}  // namespace sheaf
