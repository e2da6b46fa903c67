#include "tools/verify/compiler_check.h"

#include "runtime/session/open_devices.h"
#include "tools/verify/named_values.h"
#include "tools/verify/observed_program.h"
#include "tools/verify/slices.h"
#include "tools/verify/tolerance.h"

#include <algorithm>
#include <cmath>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// Relative to a tensor's largest element: how far end-to-end results of one model may be apart.
double relative_tolerance(const Plan& plan) { return plan.precision == "f32" ? 1e-3 : 5e-2; }
/// Relative to the largest gradient of all: a gradient that small is nothing but rounding (a bias in front of a batch norm).
constexpr double kNoGradient = 1e-5;

/// One of the two plans' programs, and what a run of it gave.
struct Side {
  const Program& program;
  std::unique_ptr<ObservedProgram> bound;
  std::map<int, HostTensor> seen;

  Result<void> run(const NamedTensors& variables, const NamedTensors& given, const std::set<int>& wanted) {
    auto values = bound->capture(variables, given, wanted);
    if (!values) return values.error();
    seen = std::move(*values);
    return {};
  }
};

class CompilerCheck {
 public:
  CompilerCheck(const Plan& plan, const Plan& reference, const VerifyOptions& options, bool on_host)
      : plan_(plan), reference_(reference), options_(options), on_host_(on_host), relative_(relative_tolerance(plan) * options.factor) {
    result_.check = on_host ? "compiler" : "model";
  }

  Result<ProgramVerification> infer(const NamedTensors& weights, const NamedTensors& data) {
    auto sides = bind(plan_.infer, reference_.infer, weights);
    if (!sides) return sides.error();
    auto& [made, expected] = *sides;
    result_.program = "infer";
    const auto results = layer_results(plan_.infer), others = layer_results(reference_.infer);
    std::set<int> wanted, other_wanted;
    for (const auto& [layer, value] : results) wanted.insert(value);
    for (const auto& [layer, value] : others) other_wanted.insert(value);
    if (auto ok = made.run(weights, data, wanted); !ok) return ok.error();
    if (auto ok = expected.run(weights, data, other_wanted); !ok) return ok.error();
    for (const auto& [layer, value] : results) {
      const auto other = std::find_if(others.begin(), others.end(), [&layer = layer](const auto& entry) { return entry.first == layer; });
      if (other == others.end() || !made.seen.contains(value) || !expected.seen.contains(other->second)) continue;
      const HostTensor &a = expected.seen.at(other->second), &b = made.seen.at(value);
      if (a.shape != b.shape || a.dtype != b.dtype) continue;
      compare_one(result_.values, layer, plan_.infer.values[index_of(value)].name, a, b, relative_ * largest_magnitude(a));
    }
    compare_outputs(made, expected);
    return std::move(result_);
  }

  Result<ProgramVerification> train(NamedTensors variables, const NamedTensors& data) {
    auto sides = bind(plan_.train, reference_.train, variables);
    if (!sides) return sides.error();
    auto& [made, expected] = *sides;
    result_.program = "train";
    for (const Update& update : reference_.train.updates) {
      auto now = expected.bound->variable(update.name);
      if (!now) return now.error();
      variables[update.name] = std::move(*now);
    }
    for (int step = 1; step <= options_.steps && !result_.divergence; ++step) {
      result_.steps = step;
      if (auto ok = train_step(made, expected, step, variables, data); !ok) return ok.error();
    }
    return std::move(result_);
  }

 private:
  Result<std::pair<Side, Side>> bind(const Program& program, const Program& reference, const NamedTensors& weights) const {
    VerifyOptions host = options_;
    auto devices = open_devices({});
    if (!devices) return devices.error();
    host.devices = std::make_shared<const DeviceSet>(std::move(*devices));
    auto made = ObservedProgram::bind(plan_, program, weights, on_host_ ? host : options_);
    if (!made) return made.error();
    auto expected = ObservedProgram::bind(reference_, reference, weights, host);
    if (!expected) return expected.error();
    return std::pair<Side, Side>(Side{program, std::move(*made), {}}, Side{reference, std::move(*expected), {}});
  }

  Result<void> train_step(Side& made, Side& expected, int step, NamedTensors& variables, const NamedTensors& data) {
    auto settings = settings_of(plan_, step, options_.seed);
    if (!settings) return settings.error();
    NamedTensors given = data;
    given.insert(settings->begin(), settings->end());
    const auto gradients = gradients_of(plan_, made.program), others = gradients_of(reference_, expected.program);
    std::set<int> wanted, other_wanted;
    for (const auto& [name, value] : gradients) wanted.insert(value);
    for (const auto& [name, value] : others) other_wanted.insert(value);
    if (auto ok = made.run(variables, given, wanted); !ok) return ok;
    if (auto ok = expected.run(variables, given, other_wanted); !ok) return ok;
    compare_outputs(made, expected);
    // Fused, a clipped gradient is never there: then the new parameters alone are compared.
    const bool clips = plan_.training.contains("clip_grad_norm");
    double largest = 0;
    for (const auto& [name, value] : others)
      if (expected.seen.contains(value)) largest = std::max(largest, largest_magnitude(expected.seen.at(value)));
    for (const auto& [name, value] : others) {
      const auto other = gradients.find(name);
      if (clips || other == gradients.end() || !expected.seen.contains(value) || !made.seen.contains(other->second)) continue;
      const HostTensor& gradient = expected.seen.at(value);
      const double tolerance = std::max(relative_ * largest_magnitude(gradient), kNoGradient * options_.factor * largest);
      compare_one(result_.gradients, name, "the gradient of " + name, gradient, made.seen.at(other->second), tolerance);
    }
    for (const Update& update : reference_.train.updates) {
      auto now = made.bound->variable(update.name), wanted_now = expected.bound->variable(update.name);
      if (!now) return now.error();
      if (!wanted_now) return wanted_now.error();
      const auto gradient = others.find(update.name);
      const HostTensor* of = gradient != others.end() && expected.seen.contains(gradient->second) ? &expected.seen.at(gradient->second) : nullptr;
      compare_update(update.name, variables.at(update.name), *wanted_now, *now, of, largest);
      variables[update.name] = std::move(*wanted_now);
    }
    return {};
  }

  /// A new value is off by as much as it has changed, in parts, and by its own rounding. Where the gradient is nothing but
  /// rounding, an optimiser that divides by its size (Adam) goes either way: such elements say nothing.
  void compare_update(const std::string& name, const HostTensor& old, const HostTensor& expected, HostTensor found,
                      const HostTensor* gradient, double largest) {
    const double none = gradient ? std::max(1e-3 * largest_magnitude(*gradient), kNoGradient * largest) : 0;
    double change = largest_difference(old, expected);
    if (gradient)
      for (int64_t i = 0; i < element_count(found); ++i)
        if (std::abs(number_at(*gradient, i)) <= none) set_number(found, i, number_at(expected, i));
    const double tolerance = relative_ * change + 8 * rounding_error(expected.dtype) * largest_magnitude(expected);
    compare_one(result_.updated, name, name, expected, found, gradient ? tolerance : std::max(tolerance, relative_ * largest_magnitude(expected)));
  }

  void compare_outputs(const Side& made, const Side& expected) {
    for (size_t i = 0; i < expected.bound->results().size() && i < made.bound->results().size(); ++i) {
      const HostTensor &a = expected.bound->results()[i], &b = made.bound->results()[i];
      const std::string& name = expected.program.outputs[i].name;
      // The means that replicas take of their rows are a vector, the mean of all is none.
      if (a.dtype != b.dtype || a.bytes.size() != b.bytes.size()) {
        missing(name);
      } else {
        compare_one(result_.values, name, name, a, b, relative_ * largest_magnitude(a));
      }
    }
  }

  void compare_one(std::vector<ValueDifference>& rows, const std::string& layer, const std::string& value, const HostTensor& expected,
                   const HostTensor& found, double tolerance) {
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
  double relative_;
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
    auto checked = trains ? check.train(weights, data) : check.infer(weights, data);
    if (!checked) return checked.error();
    result.programs.push_back(std::move(*checked));
    if (result.programs.back().divergence) break;
  }
  return result;
}

}  // namespace sheaf
