#include "tools/verify/compiler_check.h"

#include "runtime/base/index.h"
#include "runtime/session/open_devices.h"
#include "tools/verify/named_values.h"
#include "tools/verify/rounding_runs.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

/// One of the two plans' programs, and the results of a run of it.
struct Side {
  const Program& program;
  std::unique_ptr<ObservedProgram> bound;
  RunResults<HostTensor> found;
};

std::set<int> numbers_of(const std::map<std::string, int>& named) {
  std::set<int> values;
  for (const auto& [name, value] : named) values.insert(value);
  return values;
}

class CompilerCheck {
 public:
  CompilerCheck(const Plan& plan, const Plan& reference, const VerifyOptions& options, bool on_host)
      : plan_(plan), reference_(reference), options_(options), on_host_(on_host) {
    result_.check = on_host ? "compiler" : "model";
  }

  Result<ProgramVerification> infer(const NamedTensors& weights, const NamedTensors& data) {
    SHEAF_ASSIGN(auto sides, bind(plan_.infer, reference_.infer, weights));
    auto& [made, expected] = sides;
    result_.program = "infer";
    const auto results = layer_results(plan_.infer), others = layer_results(reference_.infer);
    RunRequest request{weights, data, {}, {}}, other{weights, data, {}, {}};
    for (const auto& [layer, value] : results) request.wanted.insert(value);
    for (const auto& [layer, value] : others) other.wanted.insert(value);
    SHEAF_ASSIGN(auto allowed, run(made, request, expected, other));
    for (const auto& [layer, value] : results) {
      const auto same =
          std::find_if(others.begin(), others.end(), [&layer = layer](const auto& entry) { return entry.first == layer; });
      if (same == others.end() || !made.found.values.contains(value) || !expected.found.values.contains(same->second)) continue;
      const HostTensor &a = expected.found.values.at(same->second), &b = made.found.values.at(value);
      if (a.shape != b.shape || a.dtype != b.dtype) continue;
      compare_one(result_.values, layer, plan_.infer.values[index_of(value)].name, a, b, allowed.values.at(same->second));
    }
    compare_outputs(made, expected, allowed);
    return std::move(result_);
  }

  Result<ProgramVerification> train(NamedTensors variables, const NamedTensors& data) {
    SHEAF_ASSIGN(auto sides, bind(plan_.train, reference_.train, variables));
    auto& [made, expected] = sides;
    result_.program = "train";
    result_.counts_steps = true;
    for (const Update& update : reference_.train.updates) {
      SHEAF_ASSIGN(variables[update.name], expected.bound->variable(update.name));
    }
    for (int step = 1; step <= options_.steps && !result_.divergence; ++step) {
      result_.steps = step;
      SHEAF_TRY(train_step(made, expected, step, variables, data));
    }
    return std::move(result_);
  }

 private:
  Result<std::pair<Side, Side>> bind(const Program& program, const Program& reference, const NamedTensors& weights) const {
    VerifyOptions host = options_;
    SHEAF_ASSIGN(auto devices, open_devices({}));
    host.devices = std::make_shared<const DeviceSet>(std::move(devices));
    SHEAF_ASSIGN(auto made, ObservedProgram::bind(plan_, program, weights, on_host_ ? host : options_));
    SHEAF_ASSIGN(auto expected, ObservedProgram::bind(reference_, reference, weights, host));
    return std::pair<Side, Side>(Side{program, std::move(made), {}}, Side{reference, std::move(expected), {}});
  }

  /// Runs both, and measures how far the reference's results may be off. `other` imposes by name what `made` has found.
  Result<RunResults<double>> run(Side& made, const RunRequest& request, Side& expected, RunRequest& other,
                                 const std::map<std::string, int>& gradients = {},
                                 const std::map<std::string, int>& others = {}) const {
    SHEAF_ASSIGN(auto found, run_observed(*made.bound, request));
    made.found = std::move(found);
    for (const auto& [name, value] : others) {
      const auto same = gradients.find(name);
      if (same == gradients.end() || !made.found.values.contains(same->second)) continue;
      const HostTensor& gradient = made.found.values.at(same->second);
      const Value& described = expected.program.values[index_of(value)];
      if (gradient.dtype == described.dtype && gradient.shape.size() == described.shape.size()) other.imposed[value] = gradient;
    }
    SHEAF_ASSIGN(expected.found, run_observed(*expected.bound, other));
    SHEAF_ASSIGN(auto allowed, measure_rounding(*expected.bound, other, expected.found, options_.bind.fast_numerics));
    return std::move(allowed);
  }

  /// Gradients are compared, and then the reference continues with the plan's: if a gradient is only rounding (a bias in front
  /// of a batch norm), what the optimiser makes of it is still compared, as closely as everything else.
  Result<void> train_step(Side& made, Side& expected, int step, NamedTensors& variables, const NamedTensors& data) {
    SHEAF_ASSIGN(auto settings, settings_of(plan_, step, options_.seed));
    NamedTensors given = data;
    given.insert(settings.begin(), settings.end());
    // A fused program never stores a clipped gradient: then only the new parameters are compared.
    const bool clips = plan_.training.contains("clip_grad_norm");
    const auto gradients = clips ? std::map<std::string, int>() : gradients_of(plan_, made.program);
    const auto others = clips ? std::map<std::string, int>() : gradients_of(reference_, expected.program);
    const RunRequest request{variables, given, numbers_of(gradients), {}};
    RunRequest other{variables, given, numbers_of(others), {}};
    SHEAF_ASSIGN(auto allowed, run(made, request, expected, other, gradients, others));
    compare_outputs(made, expected, allowed);
    for (const auto& [name, value] : others)
      if (const auto imposed = other.imposed.find(value);
          imposed != other.imposed.end() && expected.found.values.contains(value))
        compare_one(result_.gradients, name, "the gradient of " + name, expected.found.values.at(value), imposed->second,
                    allowed.values.at(value));
    NamedTensors next = variables;
    for (auto& [name, tensor] : expected.found.updated) {
      const auto now = made.found.updated.find(name);
      HostTensor have;
      if (now != made.found.updated.end()) {
        have = std::move(now->second);
      } else {  // no update found: the old value
        SHEAF_ASSIGN(have, made.bound->variable(name));
      }
      compare_one(result_.updated, name, name, tensor, have, allowed.updated.at(name));
      next[name] = std::move(tensor);
    }
    variables = std::move(next);
    return {};
  }

  void compare_outputs(const Side& made, const Side& expected, const RunResults<double>& allowed) {
    for (size_t i = 0; i < expected.found.outputs.size() && i < made.found.outputs.size(); ++i) {
      const HostTensor &a = expected.found.outputs[i], &b = made.found.outputs[i];
      const std::string& name = expected.program.outputs[i].name;
      // The replicas' means of their rows are a vector; the mean of all is not.
      if (a.dtype != b.dtype || a.bytes.size() != b.bytes.size()) {
        missing(name);
      } else {
        compare_one(result_.values, name, name, a, b, allowed.outputs[i]);
      }
    }
  }

  void compare_one(std::vector<ValueDifference>& rows, const std::string& layer, const std::string& value,
                   const HostTensor& expected, const HostTensor& found, double allowed) {
    const double tolerance = allowed * options_.factor;
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.name == layer; });
    if (row == rows.end()) row = rows.insert(rows.end(), ValueDifference{layer, layer, {}, {}, 0, {}, {}});
    const Difference difference = compare(expected, found, tolerance);
    ++row->compared;
    row->end_to_end.merge(difference);
    if (difference.first_beyond < 0 || result_.divergence) return;
    Divergence divergence;
    divergence.check = result_.check;
    divergence.layer = layer;
    divergence.value = value;
    divergence.index = position_of(difference.first_beyond, expected.shape);
    divergence.expected = number_at(expected, difference.first_beyond);
    divergence.found = number_at(found, difference.first_beyond);
    divergence.tolerance = tolerance;
    divergence.explanation = "compiled without regions and fusions, the model gives the expected value";
    result_.divergence = std::move(divergence);
  }

  void missing(const std::string& name) {
    if (result_.divergence) return;
    result_.divergence = Divergence{};
    result_.divergence->check = result_.check;
    result_.divergence->layer = result_.divergence->value = name;
    result_.divergence->explanation = "the plan has no such value, or one of another shape";
  }

  const Plan& plan_;
  const Plan& reference_;
  const VerifyOptions& options_;
  bool on_host_;
  ProgramVerification result_;
};

}  // namespace

Result<Verification> verify_compiler(const Plan& plan, const Plan& reference, const NamedTensors& weights,
                                     const NamedTensors& data, const VerifyOptions& options, const MixingPrograms& mixes) {
  Verification result;
  result.model = plan.name;
  result.batch = options.batch;
  for (const bool trains : {false, true}) {
    if (trains ? !options.train || plan.train.steps.empty() : !options.infer) continue;
    CompilerCheck check(plan, reference, options, trains ? mixes.train : mixes.infer);
    SHEAF_ASSIGN(auto checked, trains ? check.train(weights, data) : check.infer(weights, data));
    result.programs.push_back(std::move(checked));
    if (result.programs.back().divergence) break;
  }
  return result;
}

}  // namespace sheaf
