// sheaf verify MODEL-or-PLAN --devices LIST
#include "runtime/data/safetensors.h"
#include "runtime/plan/op_list.h"
#include "runtime/session/open_devices.h"
#include "tools/cli/execution_options.h"
#include "tools/cli/named_sources.h"
#include "tools/cli/options.h"
#include "tools/cli/report.h"
#include "sheaf/model.h"
#include "tools/verify/against_check.h"
#include "tools/verify/compiler_check.h"
#include "tools/compilation_options.h"
#include "tools/model_or_plan.h"
#include "tools/verbs.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace sheaf {
namespace {

/// Three rows for each replica and one more, so that chunks differ.
int64_t uneven_batch(int64_t replicas) { return replicas < 2 ? 4 : 3 * replicas + 1; }

Result<double> factor_of(const Options& options) {
  if (!options.has("--tolerance")) return 1.0;
  const std::string& text = options.value("--tolerance");
  char* end = nullptr;
  const double factor = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || !(factor >= 0) || factor > 1e6)
    return Error("--tolerance '" + text + "': expected a factor from 0 to 1e6");
  return factor;
}

Result<NamedTensors> all_of(const std::string& file) {
  SHEAF_ASSIGN(auto opened, SafetensorsFile::open(file));
  NamedTensors tensors;
  for (const auto& [name, entry] : opened.entries()) {
    SHEAF_ASSIGN(tensors[name], opened.read(name));
  }
  return tensors;
}

/// The command line's request, parsed; files are not read yet.
struct Request {
  std::vector<DeviceSpec> devices;
  CompileOptions compilation;  ///< of a model file
  VerifyOptions options;
  std::map<std::string, std::string> sources;
  LengthNumbers lengths;
};

Result<Request> request_of(const Options& options) {
  Request request;
  SHEAF_ASSIGN(request.devices, parse_devices(options.value("--devices")));
  SHEAF_ASSIGN(auto compilation, compilation_of(options));
  request.compilation = std::move(compilation);
  SHEAF_ASSIGN(auto batch, options.integer("--batch", 1, int64_t{1} << 40, 0));
  request.options.batch = batch;
  SHEAF_ASSIGN(auto seed, options.integer("--seed", 0, std::numeric_limits<int64_t>::max(), 0));
  request.options.seed = static_cast<uint64_t>(seed);
  SHEAF_ASSIGN(auto steps, options.integer("--steps", 1, 1000, request.options.steps));
  request.options.steps = static_cast<int>(steps);
  SHEAF_ASSIGN(auto factor, factor_of(options));
  request.options.factor = factor;
  SHEAF_ASSIGN(auto sources, named_sources("--input", options.values("--input")));
  request.sources = std::move(sources);
  SHEAF_ASSIGN(request.lengths, lengths_of_options(options));
  request.options.infer = options.value("--program") != "train";
  request.options.train = options.value("--program") != "infer";
  SHEAF_ASSIGN(auto bind, bind_options(options));
  request.options.bind = bind;
  return request;
}

/// The checks of a model or plan, one after another, until one fails.
class Verifier {
 public:
  Verifier(const Options& options, Request request)
      : options_(options), request_(std::move(request)), wanted_(request_.options) {}

  Result<Verification> run() {
    const std::string& file = options_.value("MODEL-or-PLAN");
    SHEAF_ASSIGN(auto model, read_model(file));
    if (!model) {
      SHEAF_TRY(takes_a_plan(file));
    }
    CompileReport said;
    SHEAF_ASSIGN(auto plan, model ? compile(*model, request_.compilation, &said) : read_model_or_plan(file, {}));
    SHEAF_ASSIGN(plan, numbered(std::move(plan)));
    if (!wanted_.infer && plan.train.steps.empty())
      return Error({plan.file}, "'" + plan.name + "' holds no training program").note("add a 'training' section to the model");
    SHEAF_ASSIGN(auto devices, open_all_ranks(request_.devices, 0, wanted_.bind.shards));
    wanted_.devices = std::make_shared<const DeviceSet>(std::move(devices));
    SHEAF_ASSIGN(auto weights, weights_for(plan));
    if (options_.has("--against")) return against(plan, weights);
    if (wanted_.batch == 0) wanted_.batch = uneven_batch(std::max<int64_t>(std::ssize(request_.devices), wanted_.bind.shards));
    SHEAF_ASSIGN(auto data, data_for(plan, wanted_.batch, wanted_.seed, request_.sources));

    if (model) {
      CompileOptions apart = request_.compilation;
      apart.unpartitioned = apart.unfused = true;
      SHEAF_ASSIGN(auto reference, compile(*model, apart));
      SHEAF_ASSIGN(reference, numbered(std::move(reference)));
      SHEAF_TRY(add(verify_compiler(plan, reference, weights, data, wanted_, mixing(plan, said))));
    }
    if (all_.passed()) SHEAF_TRY(add(verify(plan, weights, data, wanted_)));
    if (all_.passed() && options_.has("--every-layer")) {
      CompileOptions layers = request_.compilation;
      layers.unfused = true;
      SHEAF_ASSIGN(auto unfused, compile(*model, layers));
      SHEAF_ASSIGN(unfused, numbered(std::move(unfused)));
      SHEAF_TRY(add(verify(unfused, weights, data, wanted_), " (every layer)"));
    }
    return std::move(all_);
  }

 private:
  Result<Plan> numbered(Plan plan) const { return sized(std::move(plan), request_.lengths, request_.sources); }

  /// An error if the request asks for something that a plan has settled already.
  Result<void> takes_a_plan(const std::string& file) const {
    if (options_.has("--every-layer"))
      return Error({file}, "--every-layer takes a model file: in a plan layers are fused already");
    const CompileOptions otherwise;
    const std::string option = request_.compilation.precision != otherwise.precision ? "--precision"
                               : request_.compilation.strategy != otherwise.strategy ? "--strategy"
                               : options_.has("--device-memory")                     ? "--device-memory"
                                                                                     : "";
    return option.empty() ? Result<void>() : Error({file}, option + " takes a model file: a plan is compiled already");
  }

  Result<NamedTensors> weights_for(const Plan& plan) const {
    SHEAF_ASSIGN(auto model, Model::from_plan(plan));
    SHEAF_TRY(options_.has("--weights") ? load_weights(model, options_.value("--weights"))
                                        : model.initialise_parameters(wanted_.seed));
    return weights_of(model);
  }

  Result<Verification> against(const Plan& plan, const NamedTensors& weights) {
    SHEAF_ASSIGN(auto theirs, all_of(options_.value("--against")));
    const NamedTensors given = data_in(plan, theirs);
    if (wanted_.batch == 0) wanted_.batch = std::max<int64_t>(1, rows_of(plan, given));
    SHEAF_ASSIGN(auto data, data_for(plan, wanted_.batch, wanted_.seed, request_.sources));
    for (const auto& [name, tensor] : given) data[name] = tensor;
    return verify_against(plan, weights, data, theirs, wanted_);
  }

  /// A model states this if its layers mix rows that a region splits; batch norm does in training, as in PyTorch.
  static MixingPrograms mixing(const Plan& plan, const CompileReport& said) {
    MixingPrograms mixes{said.mixes_rows, said.mixes_rows};
    for (const Step& step : plan.train.steps)
      mixes.train |= step.op == Op::batch_norm_train && step.place.kind == Place::region;
    return mixes;
  }

  Result<void> add(Result<Verification> found, const std::string& which = "") {
    if (!found) return found.error();
    all_.model = found->model;
    all_.batch = found->batch;
    for (ProgramVerification& program : found->programs) {
      program.program += which;
      all_.programs.push_back(std::move(program));
    }
    return {};
  }

  const Options& options_;
  Request request_;
  VerifyOptions wanted_;
  Verification all_;
};

}  // namespace

OptionParser verify_options() {
  OptionParser parser("verify",
                      "Checks that the partitioned program computes what the unpartitioned one does, value by value.");
  parser.positional("MODEL-or-PLAN", "a model file, or a plan that `sheaf compile` wrote")
      .file(FileUse::input)
      .add(devices_option)
      .required()
      .add(shards_option)
      .option("--batch", "N", "rows of a batch (default: three for each device, or shard, and one more, so that chunks differ)")
      .also("--batch-size")
      .add(length_option)
      .option("--program", "NAME", "which programs")
      .choices({"both", "infer", "train"})
      .add(weights_option)
      .option("--input", "NAME=SOURCE", "rows of an input or target, as `sheaf run` takes them; the others are random")
      .file(FileUse::source)
      .repeatable()
      .option("--against", "FILE", "compare with these results of another framework instead, a safetensors file")
      .file(FileUse::input)
      .flag("--every-layer", "given a model file, also verify with nothing fused, so that every layer's values are compared")
      .option("--steps", "K", "training steps, one after another (default 2)")
      .option("--tolerance", "FACTOR", "factor on the tolerance for rounding (default 1; 0: require equal bits)")
      .add(compilation_options)
      .add(numerics_option)
      .add(seed_option)
      .add(deterministic_option)
      .add(deadline_option)
      .flag("--json", "print every compared value as JSON")
      .example("a model on three CPU devices, with chunks of 4, 4 and 2 rows",
               {"sheaf verify models/digits_cnn.json --devices cpu:0-2 --batch 10"});
  return parser;
}

int verify_verb(std::span<const std::string> arguments) {
  const OptionParser parser = verify_options();
  auto options = parser.parse(arguments);
  if (!options) return report_usage(options.error(), "verify");
  if (options->help()) return print_help(parser);
  auto request = request_of(*options);
  if (!request) return report_usage(request.error(), "verify");
  auto verification = Verifier(*options, std::move(*request)).run();
  if (!verification) return report(verification.error(), kFailed);
  verification->devices = options->value("--devices");

  const std::string shown = options->has("--json") ? to_json(*verification).dump(2) + "\n" : to_text(*verification);
  if (const int status = print(shown); status != kDone) return status;
  for (const ProgramVerification& checked : verification->programs) {
    if (!checked.divergence) continue;
    return report(Error(checked.divergence->location, to_text(*checked.divergence)).note(checked.divergence->explanation),
                  kFailed);
  }
  return kDone;
}

}  // namespace sheaf
