#include "tools/verify/verify.h"

#include "runtime/data/source.h"
#include "runtime/base/suggest.h"
#include "runtime/plan/base64.h"
#include "tools/cli/random_ranges.h"
#include "sheaf/model.h"
#include "tools/verify/named_values.h"
#include "tools/verify/observed_program.h"
#include "tools/verify/partition_check.h"
#include "tools/verify/slices.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sheaf {
namespace {

/// One program, step after step, until something diverges.
class ProgramCheck {
 public:
  ProgramCheck(const Plan& plan, const Program& program, const VerifyOptions& options, const StepRunner& runner)
      : plan_(plan), program_(program), options_(options), runner_(runner), values_(values_of(program)) {}

  Result<ProgramVerification> run(NamedTensors variables, const NamedTensors& data, int steps) {
    for (const Parameter& entry : plan_.state) {
      SHEAF_ASSIGN(auto tensor, make_tensor(entry.dtype, entry.shape));
      for (int64_t i = 0; i < element_count(tensor); ++i) set_number(tensor, i, entry.init.value("value", 0.0));
      variables.emplace(entry.name, std::move(tensor));
    }
    SHEAF_ASSIGN(auto sizes, Sizes::make(plan_, program_, *options_.devices, options_.batch));
    SHEAF_ASSIGN(auto observed, ObservedProgram::bind(plan_, program_, variables, options_));
    for (int step = 1; step <= steps && !result_.divergence; ++step) {
      result_.steps = step;
      SHEAF_ASSIGN(auto settings, settings_of(plan_, step, options_.seed));
      NamedTensors given = data;
      for (auto& [name, scalar] : settings) given[name] = std::move(scalar);
      SHEAF_TRY(run_step(*observed, sizes, given, variables));
    }
    for (const ValueDifference& value : values_)
      if (value.compared > 0) result_.values.push_back(value);
    for (const auto& [parameter, value] : gradients_of(plan_, program_)) {
      if (values_[static_cast<size_t>(value)].compared == 0) continue;  // the run stopped earlier
      result_.gradients.push_back(values_[static_cast<size_t>(value)]);
      result_.gradients.back().name = parameter;
    }
    return std::move(result_);
  }

 private:
  /// `variables` become the reference's after the step.
  Result<void> run_step(ObservedProgram& observed, const Sizes& sizes, const NamedTensors& given, NamedTensors& variables) {
    NamedTensors all = given;
    all.insert(variables.begin(), variables.end());
    SHEAF_ASSIGN(auto reference, Reference::compute(runner_, program_, sizes, all, options_.bind.fast_numerics));
    SHEAF_ASSIGN(auto inputs, observed.inputs(given));
    const CheckedRun run{plan_,  program_,           reference,      sizes, *options_.devices, observed.binding(),
                         inputs, observed.outputs(), options_.factor};

    SHEAF_TRY(observed.set(variables));
    SHEAF_ASSIGN(auto divergence, check_operations(run, values_));
    result_.divergence = std::move(divergence);
    if (result_.divergence) return {};
    if (auto ok = check_updates(observed, reference); !ok || result_.divergence) return ok;

    SHEAF_TRY(observed.set(variables));
    SHEAF_TRY(measure_end_to_end(run, values_));
    SHEAF_TRY(measure_updates(observed, reference));
    SHEAF_TRY(check_concurrent(observed, run, variables));

    for (const Update& update : program_.updates) variables[update.name] = reference.at(update.value).parts[0];
    return {};
  }

  /// After a run in which each operation had the reference's operands, variables hold exactly the values that were stored
  /// there.
  Result<void> check_updates(ObservedProgram& observed, const Reference& reference) {
    for (const Update& update : program_.updates) {
      SHEAF_ASSIGN(auto found, observed.variable(update.name));
      const HostTensor& expected = reference.at(update.value).parts[0];
      const double tolerance = reference.at(update.value).tolerance * options_.factor;
      const Difference difference = compare(expected, found, tolerance);
      row(result_.updated, update.name, update.value).alone.merge(difference);
      if (difference.first_beyond < 0 || result_.divergence) continue;
      result_.divergence = divergence("update", update.value, expected, found, difference.first_beyond,
                                      "'" + update.name + "' doesn't hold its new value after the step");
      result_.divergence->tolerance = tolerance;
    }
    return {};
  }

  Result<void> measure_updates(ObservedProgram& observed, const Reference& reference) {
    for (const Update& update : program_.updates) {
      SHEAF_ASSIGN(auto found, observed.variable(update.name));
      ValueDifference& row = this->row(result_.updated, update.name, update.value);
      ++row.compared;
      row.end_to_end.merge(compare(reference.at(update.value).parts[0], found, 0));
    }
    return {};
  }

  /// Running all lanes at once gives the same bits as one operation after another.
  Result<void> check_concurrent(ObservedProgram& observed, const CheckedRun& run, const NamedTensors& variables) {
    const std::vector<HostTensor> outputs = observed.results();
    NamedTensors updated;
    for (const Update& update : program_.updates) {
      SHEAF_ASSIGN(updated[update.name], observed.variable(update.name));
    }
    SHEAF_TRY(observed.set(variables));
    const PrintSink silent = [](std::string_view) {};
    SHEAF_TRY(observed.binding().run(run.inputs, run.outputs, &silent));
    const char* const why = "lanes that run at the same time give other bits than operations one by one";
    for (size_t i = 0; i < outputs.size() && !result_.divergence; ++i) {
      const Difference difference = compare(outputs[i], observed.results()[i], -1);
      if (difference.differing > 0)
        result_.divergence =
            divergence("run", program_.outputs[i].value, outputs[i], observed.results()[i], difference.first_beyond, why);
    }
    for (const Update& update : program_.updates) {
      SHEAF_ASSIGN(auto found, observed.variable(update.name));
      const Difference difference = compare(updated.at(update.name), found, -1);
      if (difference.differing > 0 && !result_.divergence)
        result_.divergence = divergence("run", update.value, updated.at(update.name), found, difference.first_beyond, why);
    }
    return {};
  }

  ValueDifference& row(std::vector<ValueDifference>& rows, const std::string& name, int value) {
    const auto known = std::find_if(rows.begin(), rows.end(), [&](const auto& other) { return other.name == name; });
    if (known != rows.end()) return *known;
    rows.push_back({name, values_[static_cast<size_t>(value)].layer, values_[static_cast<size_t>(value)].op, {}, 0, {}, {}});
    return rows.back();
  }

  Divergence divergence(const char* check, int value, const HostTensor& expected, const HostTensor& found, int64_t element,
                        std::string explanation) const {
    const ValueDifference& described = values_[static_cast<size_t>(value)];
    Divergence result;
    result.check = check;
    result.layer = described.layer;
    result.value = described.name;
    result.op = described.op;
    result.index = position_of(element, expected.shape);
    result.expected = number_at(expected, element);
    result.found = number_at(found, element);
    result.explanation = std::move(explanation);
    return result;
  }

  const Plan& plan_;
  const Program& program_;
  const VerifyOptions& options_;
  const StepRunner& runner_;
  std::vector<ValueDifference> values_;  ///< by value of the program
  ProgramVerification result_;
};

}  // namespace

Result<NamedTensors> weights_of(const Model& model) {
  NamedTensors weights;
  SHEAF_ASSIGN(auto tensors, model.read_parameters());
  for (NamedTensor& named : tensors) weights[named.name] = std::move(named.tensor);
  for (const Parameter& parameter : model.plan()->parameters) {
    if (!parameter.constant) continue;
    SHEAF_ASSIGN(auto tensor, make_tensor(parameter.dtype, parameter.shape));
    SHEAF_ASSIGN(const auto bytes, from_base64(parameter.init.value("data", std::string())));
    std::memcpy(tensor.bytes.data(), bytes.data(), std::min(bytes.size(), tensor.bytes.size()));
    weights[parameter.name] = std::move(tensor);
  }
  return weights;
}

Result<NamedTensors> data_for(const Plan& plan, int64_t batch, uint64_t seed,
                              const std::map<std::string, std::string>& sources) {
  NamedTensors data;
  std::vector<std::string> names;
  const auto ranges = random_ranges(plan);
  for (const Program* program : {&plan.infer, &plan.train}) {
    for (const Value& value : program->values) {
      if ((value.role != Value::input && value.role != Value::target) || data.contains(value.name)) continue;
      SourceRequest request{value.name, value.dtype, {}, seed, ranges.at(value.name)};
      bool batched = false;
      for (const Extent& extent : value.shape) {
        batched |= !extent.is_static();
        request.shape.push_back(extent.is_static() ? extent.constant : -1);
      }
      const auto source = sources.find(value.name);
      auto tensor =
          load_source(source != sources.end() ? source->second : "random:" + std::to_string(batched ? batch : 1), request);
      if (!tensor) return tensor.error();
      names.push_back(value.name);
      data[value.name] = std::move(*tensor);
    }
  }
  for (const auto& [name, source] : sources)
    if (!data.contains(name))
      return Error({plan.file}, "'" + plan.name + "' has no input or target '" + name + "'" + suggestion(name, names));
  return data;
}

Result<Verification> verify(const Plan& plan, const NamedTensors& weights, const NamedTensors& data,
                            const VerifyOptions& options) {
  Verification result;
  result.model = plan.name;
  result.batch = options.batch;
  auto runner = StepRunner::make(plan, /*threads=*/1);  // steps are small: a team would wait more than it works
  if (!runner) return runner.error();
  for (const auto& [program, name, wanted] :
       {std::tuple{&plan.infer, "infer", options.infer}, {&plan.train, "train", options.train}}) {
    if (!wanted || program->steps.empty()) continue;
    const bool trains = program == &plan.train;
    SHEAF_ASSIGN(auto checked, ProgramCheck(plan, *program, options, *runner).run(weights, data, trains ? options.steps : 1));
    checked.program = name;
    checked.counts_steps = trains;
    result.programs.push_back(std::move(checked));
    if (result.programs.back().divergence) break;
  }
  return result;
}

}  // namespace sheaf
