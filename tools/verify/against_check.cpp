#include "tools/verify/against_check.h"

#include "runtime/base/parameter_names.h"
#include "runtime/base/suggest.h"
#include "tools/verify/named_values.h"
#include "tools/verify/rounding_runs.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <optional>

namespace sheaf {
namespace {

bool is_given(const Value& value) { return value.role == Value::input || value.role == Value::target; }

/// The meaning of tensor names in one of the plan's programs. A tied parameter has several names.
struct Names {
  std::map<std::string, int> values;  ///< layers' results, gradients
  std::set<int> gradients;            ///< of these values
  std::map<std::string, size_t> outputs;
  std::map<std::string, std::string> updated;  ///< parameters, buffers and state with new values, under the update's name

  Names(const Plan& plan, const Program& program) {
    const bool trains = !program.updates.empty();
    if (!trains)
      for (const auto& [layer, value] : layer_results(program)) values[layer] = value;
    for (const auto& [name, value] : gradients_of(plan, program)) {
      values[name + ".grad"] = value;
      gradients.insert(value);
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) outputs[program.outputs[i].name] = i;
    for (const Update& update : program.updates) updated[update.name] = update.name;
    for (const Parameter& parameter : plan.parameters) {
      for (const std::string& alias : parameter.aliases) {
        if (updated.contains(parameter.name)) updated[alias] = parameter.name;
        if (const auto gradient = values.find(parameter.name + ".grad"); gradient != values.end())
          values[alias + ".grad"] = gradient->second;
      }
    }
  }
  /// The names that weights files may write differently; outputs' names are the model's own.
  std::vector<std::string> dotted() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : values) names.push_back(name);
    for (const auto& [name, update] : updated) names.push_back(name);
    return names;
  }
  bool has(const std::string& name) const { return values.contains(name) || outputs.contains(name) || updated.contains(name); }
};

class AgainstCheck {
 public:
  AgainstCheck(const Plan& plan, const Program& program, const VerifyOptions& options)
      : plan_(plan), program_(program), options_(options), names_(plan, program) {}

  const Names& names() const { return names_; }

  Result<ProgramVerification> run(const NamedTensors& weights, NamedTensors given, const NamedTensors& theirs) {
    SHEAF_ASSIGN(auto settings, settings_of(plan_, 1, options_.seed));
    given.insert(settings.begin(), settings.end());
    SHEAF_ASSIGN(auto bound, ObservedProgram::bind(plan_, program_, weights, options_));
    RunRequest request{weights, given, {}, {}};
    for (const auto& [name, tensor] : theirs) {
      const auto found = names_.values.find(name);
      if (found == names_.values.end()) continue;
      request.wanted.insert(found->second);
      // The optimiser's result is compared with theirs, computed from the same gradient.
      const Value& gradient = program_.values[static_cast<size_t>(found->second)];
      const bool fits = tensor.dtype == gradient.dtype && tensor.shape == sizes_of(gradient);
      if (names_.gradients.contains(found->second) && fits) request.imposed[found->second] = tensor;
    }
    SHEAF_ASSIGN(auto ours, run_observed(*bound, request));
    SHEAF_ASSIGN(auto allowed, measure_rounding(*bound, request, ours, options_.bind.fast_numerics));
    for (const auto& [name, tensor] : theirs) {
      Result<void> ok;
      if (const auto output = names_.outputs.find(name); output != names_.outputs.end()) {
        ok = compare_one(name, tensor, ours.outputs[output->second], allowed.outputs[output->second]);
      } else if (const auto update = names_.updated.find(name); update != names_.updated.end()) {
        ok = compare_one(name, tensor, ours.updated.at(update->second), allowed.updated.at(update->second));
      } else if (const auto value = names_.values.find(name);
                 value != names_.values.end() && ours.values.contains(value->second)) {
        ok = compare_one(name, tensor, ours.values.at(value->second), allowed.values.at(value->second));
      }
      if (!ok) return ok.error();
    }
    return std::move(result_);
  }

 private:
  static std::optional<std::vector<int64_t>> sizes_of(const Value& value) {
    std::vector<int64_t> sizes;
    for (const Extent& size : value.shape) {
      if (!size.is_static()) return std::nullopt;
      sizes.push_back(size.constant);
    }
    return sizes;
  }

  Result<void> compare_one(const std::string& name, const HostTensor& theirs, const HostTensor& ours, double allowed) {
    if (theirs.shape != ours.shape || theirs.dtype != ours.dtype) {
      return Error("'" + name + "' is " + std::string(name_of(theirs.dtype)) + " " + shape_text(theirs.shape) +
                   " in the file, here " + std::string(name_of(ours.dtype)) + " " + shape_text(ours.shape));
    }
    const double tolerance = allowed * options_.factor;
    const Difference difference = compare(theirs, ours, tolerance);
    ValueDifference row{name, name, {}, {}, 1, {}, {}};
    row.end_to_end = difference;
    result_.values.push_back(std::move(row));
    if (difference.first_beyond < 0 || result_.divergence) return {};
    Divergence divergence;
    divergence.check = "against";
    divergence.layer = divergence.value = name;
    divergence.index = position_of(difference.first_beyond, theirs.shape);
    divergence.expected = number_at(theirs, difference.first_beyond);
    divergence.found = number_at(ours, difference.first_beyond);
    divergence.tolerance = tolerance;
    divergence.explanation = "expected is the file's value";
    result_.divergence = std::move(divergence);
    return {};
  }

  const Plan& plan_;
  const Program& program_;
  const VerifyOptions& options_;
  Names names_;
  ProgramVerification result_;
};

/// `theirs` under the plan's names: names of parameters, gradients and layers are matched as match_names() matches a weights
/// file's. Unknown names stay.
Result<NamedTensors> under_the_plans_names(const Plan& plan, const NamedTensors& theirs) {
  const Names infer(plan, plan.infer), train(plan, plan.train);
  NamedTensors named;
  std::vector<std::string> open;
  for (const auto& [name, tensor] : theirs) {
    if (infer.has(name) || train.has(name)) {
      named.insert({name, tensor});
    } else {
      open.push_back(name);
    }
  }
  for (const Names* program : {&train, &infer}) {
    const std::vector<std::string> known = program->dotted();
    const auto matches = match_names(known, open);
    std::vector<std::string> still_open;
    for (size_t i = 0; i < open.size(); ++i) {
      if (!matches[i]) {
        still_open.push_back(open[i]);
      } else if (!named.insert({known[*matches[i]], theirs.at(open[i])}).second) {
        return Error("'" + known[*matches[i]] + "' is given twice, once as '" + open[i] + "'");
      }
    }
    open = std::move(still_open);
  }
  for (const std::string& name : open) named.insert({name, theirs.at(name)});
  return named;
}

}  // namespace

NamedTensors data_in(const Plan& plan, const NamedTensors& theirs) {
  NamedTensors data;
  for (const Program* program : {&plan.infer, &plan.train})
    for (const Value& value : program->values)
      if (const auto found = theirs.find(value.name); is_given(value) && found != theirs.end()) data.insert(*found);
  return data;
}

int64_t rows_of(const Plan& plan, const NamedTensors& data) {
  for (const Value& value : plan.infer.values) {
    const auto found = data.find(value.name);
    if (!is_given(value) || found == data.end()) continue;
    for (size_t i = 0; i < value.shape.size() && i < found->second.shape.size(); ++i)
      if (!value.shape[i].is_static()) return found->second.shape[i];
  }
  return 0;
}

Result<Verification> verify_against(const Plan& plan, const NamedTensors& weights, const NamedTensors& data,
                                    const NamedTensors& theirs, const VerifyOptions& options) {
  Verification result;
  result.model = plan.name;
  result.batch = options.batch;
  NamedTensors results = theirs;
  for (const auto& [name, tensor] : data_in(plan, theirs)) results.erase(name);
  SHEAF_ASSIGN(NamedTensors left, under_the_plans_names(plan, results));
  for (const bool trains : {false, true}) {
    const Program& program = trains ? plan.train : plan.infer;
    if (program.steps.empty() || !(trains ? options.train : options.infer)) continue;
    AgainstCheck check(plan, program, options);
    NamedTensors known;
    for (const auto& [name, tensor] : left)
      if (check.names().has(name)) known.insert({name, tensor});
    for (const auto& [name, tensor] : known) left.erase(name);
    if (known.empty()) continue;
    SHEAF_ASSIGN(auto checked, check.run(weights, data, known));
    checked.program = trains ? "train" : "infer";
    checked.check = "against";
    result.programs.push_back(std::move(checked));
  }
  if (!left.empty()) {
    std::set<std::string> known;
    for (const Program* program : {&plan.infer, &plan.train}) {
      for (const Output& output : program->outputs) known.insert(output.name);
      for (std::string& name : Names(plan, *program).dotted()) known.insert(std::move(name));
    }
    const std::vector<std::string> names(known.begin(), known.end());
    Error error("'" + left.begin()->first + "' is neither data nor a value of '" + plan.name + "'" +
                suggestion(left.begin()->first, names));
    return error.note(
        "names are those of outputs, layers, inputs and targets; of a training step: loss, parameters, PARAMETER.grad");
  }
  if (result.programs.empty()) return Error("there is nothing to compare with: all that is given is data");
  return result;
}

}  // namespace sheaf
