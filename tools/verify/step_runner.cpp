#include "tools/verify/step_runner.h"

#include "runtime/base/index.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/ops/traits.h"
#include "runtime/session/open_devices.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

int maker_of(const Program& program, int value) {
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const auto& outputs = program.steps[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return static_cast<int>(i);
  }
  return -1;
}

/// Writes a program of a few steps with concrete sizes.
class SingleStep {
 public:
  SingleStep(const Program& from, const Sizes& sizes, int replica) : from_(from), sizes_(sizes), replica_(replica) {
    made_.symbols = {Symbol{"batch", Symbol::batch, -1, {}}};
  }

  /// `asked_for`: this is the step to run; otherwise one that makes a workspace.
  Result<void> add(int index, bool asked_for) {
    Step step = from_.steps[index_of(index)];
    std::vector<int> makers;
    for (const int input : step.inputs) {
      const int maker = maker_of(from_, input);
      if (maker >= 0 && opaque(maker, input)) {
        makers.push_back(maker);
      } else if (asked_for) {
        SHEAF_TRY(add_input(input));
      }
    }
    if (asked_for) own_ = inputs_.size();
    for (const int maker : makers) SHEAF_TRY(add(maker, false));
    for (int& input : step.inputs) {
      SHEAF_TRY(add_input(input));
      input = known_.at(input);
    }
    for (int& output : step.outputs) {
      const auto given = known_.find(output);  // a maker's outputs besides the workspace are given
      const int keep = given == known_.end() ? -1 : given->second;
      const int original = output;
      SHEAF_TRY(add_value(original, Value::temporary));
      output = known_.at(original);
      if (keep >= 0) known_[original] = keep;
    }
    step.place = {};
    step.once = false;
    for (const char* name : {"extents", "work", "gpu_work"}) {
      const auto found = step.attributes.find(name);
      if (found == step.attributes.end()) continue;
      SHEAF_TRY(put_sizes(*found, from_.steps[index_of(index)].place));
    }
    made_.steps.push_back(std::move(step));
    return {};
  }

  Program made_;
  std::vector<int> inputs_;
  size_t own_ = 0;
  std::map<int, int> known_;  ///< values of the program: their number here

 private:
  bool opaque(int maker, int value) const {
    const Step& step = from_.steps[index_of(maker)];
    const auto at = std::find(step.outputs.begin(), step.outputs.end(), value) - step.outputs.begin();
    return is_opaque(from_, step, static_cast<size_t>(at));
  }

  Result<void> add_input(int value) {
    if (known_.contains(value)) return {};
    SHEAF_TRY(add_value(value, Value::input));
    inputs_.push_back(value);
    return {};
  }

  Result<void> add_value(int id, Value::Role role) {
    const Value& described = from_.values[index_of(id)];
    SHEAF_ASSIGN(auto dims, sizes_.dims(described, replica_));
    Value value;
    value.name = described.name;
    value.dtype = described.dtype;
    value.shape.assign(dims.begin(), dims.end());
    value.role = role;
    known_[id] = static_cast<int>(made_.values.size());
    made_.values.push_back(std::move(value));
    return {};
  }

  /// Extents in a kernel's attributes: numbers instead of symbols.
  Result<void> put_sizes(Json& json, const Place& place) {
    if (json.is_array()) {
      for (Json& element : json) SHEAF_TRY(put_sizes(element, place));
      return {};
    }
    if (!json.is_string()) return {};
    SHEAF_ASSIGN(auto extent, parse_extent(json.get<std::string>()));
    SHEAF_ASSIGN(json, sizes_.evaluate(extent, place, replica_));
    return {};
  }

  const Program& from_;
  const Sizes& sizes_;
  int replica_;
};

}  // namespace

bool is_opaque(const Program& program, const Step& step, size_t output) {
  if (const auto status = step.attributes.find("status"); status != step.attributes.end())
    if (status->is_number_integer() && status->get<size_t>() == output) return true;
  const Value& value = program.values[index_of(step.outputs[output])];
  return is_workspace(step, value);
}

Result<StepRunner> StepRunner::make(const Plan& plan, int threads) {
  StepRunner runner(plan);
  SHEAF_ASSIGN(auto host, open_devices({}, threads));
  runner.host_ = std::make_shared<const DeviceSet>(std::move(host));
  SHEAF_ASSIGN(runner.kernels_, runner.host_->host().load_kernels(plan));
  return runner;
}

Result<BoundStep> StepRunner::bind(const Program& program, int step, const Sizes& sizes, int replica, Part part) const {
  SingleStep alone(program, sizes, replica);
  SHEAF_TRY(alone.add(step, true));
  if (part == without_activation) alone.made_.steps.back().attributes.erase("activation");
  BoundStep bound;
  const Step& original = program.steps[index_of(step)];
  for (size_t i = 0; i < original.outputs.size(); ++i) {
    bound.results_.push_back(is_opaque(program, original, i) ? -1 : static_cast<int>(alone.made_.outputs.size()));
    if (bound.results_.back() < 0) continue;
    const int value = alone.known_.at(original.outputs[i]);
    alone.made_.outputs.push_back({alone.made_.values[index_of(value)].name, value});
  }
  bound.inputs_ = std::move(alone.inputs_);
  bound.own_ = alone.own_;
  bound.program_ = std::make_unique<Program>(std::move(alone.made_));
  static const std::vector<Parameter> none;
  BindRequest request{*plan_, *bound.program_, host_, {kernels_}, std::make_shared<VariableStore>(cpu_device(), none, none), 1};
  SHEAF_ASSIGN(bound.binding_, Binding::bind(request));
  return bound;
}

Result<std::vector<HostTensor>> BoundStep::run(const std::vector<const HostTensor*>& inputs) {
  std::vector<const void*> given;
  for (const HostTensor* input : inputs) given.push_back(input->bytes.data());
  std::vector<HostTensor> results;
  std::vector<void*> taken;
  for (const int result : results_) {
    if (result < 0) {
      results.emplace_back();
      continue;
    }
    const TensorSpec& spec = binding_->outputs()[index_of(result)];
    SHEAF_ASSIGN(auto tensor, make_tensor(spec.dtype, spec.dims));
    taken.push_back(tensor.bytes.data());
    results.push_back(std::move(tensor));
  }
  SHEAF_TRY(binding_->run(given, taken));
  return results;
}

}  // namespace sheaf
