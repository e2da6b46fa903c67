#include "tools/estimate/training_step.h"

#include "runtime/device/device_set.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace sheaf {
namespace {

class StepReader {
 public:
  StepReader(const Plan& plan, const Program& program, const PlannedProgram& planned, const DeviceSet& devices,
             const Estimate& estimate)
      : plan_(plan),
        program_(program),
        bound_(planned.binding.program),
        schedule_(planned.binding.schedule),
        store_(*planned.store),
        lane_(devices.lane_of_entry(0)),
        estimate_(estimate),
        position_(bound_.instances.size(), -1),
        parameter_(bound_.tensors.size()) {}

  TrainingStep run() {
    add_operations();
    find_trained();
    for (const InstanceId i : bound_.instances.ids()) note_reads(i);
    for (auto& [node, parameter] : parameters_) {
      if (parameter.forward[0] >= 0) step_.parameters.push_back(std::move(parameter));
    }
    std::stable_sort(step_.parameters.begin(), step_.parameters.end(),
                     [](const StepParameter& a, const StepParameter& b) { return a.forward[0] < b.forward[0]; });
    for (const Step& step : program_.steps) add_gradient(step);
    std::stable_sort(step_.gradients.begin(), step_.gradients.end(),
                     [](const StepGradient& a, const StepGradient& b) { return a.ready < b.ready; });
    return std::move(step_);
  }

 private:
  /// The phase of the step that it belongs to; an operation without a step is an update if it writes a variable.
  Phase phase(InstanceId i) const {
    const OperationInfo& info = estimate_.operations[i.index()];
    if (info.op == Op::update || bound_.instances[i].commits) return Phase::update;
    return info.step < 0 ? Phase::forward : program_.steps[static_cast<size_t>(info.step)].phase;
  }

  void add_operations() {
    std::vector<InstanceId> order;
    for (const InstanceId i : bound_.instances.ids())
      if (!bound_.instances[i].left_out()) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](InstanceId a, InstanceId b) { return estimate_.ends[a.index()] < estimate_.ends[b.index()]; });
    const std::vector<size_t>& live = estimate_.memory[lane_.index()].live_bytes;
    double now = 0, bytes = 0;
    for (const InstanceId i : order) {
      const double took = estimate_.ends[i.index()] - now;
      now = estimate_.ends[i.index()];
      if (phase(i) == Phase::update) {
        step_.update_seconds += took;
        continue;
      }
      if (bound_.instances[i].lane == lane_)
        bytes = static_cast<double>(live[static_cast<size_t>(schedule_.instances[i].position)]);
      position_[i] = static_cast<int>(step_.seconds.size());
      step_.seconds.push_back(took);
      step_.live.push_back(bytes);
    }
  }

  void find_trained() {
    for (const BoundProgram::Update& update : bound_.updates) {
      const auto* stored = bound_.tensors[update.variable].lies<Tensor::Stored>();
      const VariableStore::Node& node = store_.nodes()[stored->node];
      if (node.kind != VariableStore::Kind::parameter) continue;
      StepParameter& parameter = parameters_[stored->node];
      parameter.name = node.name;
      parameter.bytes = static_cast<double>(store_.bytes_of(node));
    }
  }

  std::optional<NodeId> parameter_of(TensorId tensor) const {
    const TensorId root = bound_.root(tensor).tensor;
    if (const auto* stored = bound_.tensors[root].lies<Tensor::Stored>()) return stored->node;
    return parameter_[root];
  }

  /// Notes the parameters that it reads. The result of an operation that reads only one, such as a conversion of its elements,
  /// is another form of that parameter: readers of the form count as the parameter's.
  void note_reads(InstanceId i) {
    const Instance& instance = bound_.instances[i];
    if (instance.left_out() || phase(i) == Phase::update) return;
    std::set<NodeId> read;
    bool others = false;
    for (const TensorId input : instance.inputs) {
      if (const auto node = parameter_of(input)) read.insert(*node);
      else others = true;
    }
    if (read.size() == 1 && !others) {
      for (const TensorId output : instance.outputs) parameter_[bound_.root(output).tensor] = *read.begin();
      return;
    }
    if (instance.replica < 0) return;
    for (const NodeId node : read) {
      const auto found = parameters_.find(node);
      if (found == parameters_.end()) continue;
      int(&uses)[2] = phase(i) == Phase::backward ? found->second.backward : found->second.forward;
      if (uses[0] < 0) uses[0] = position_[i];
      uses[1] = std::max(uses[1], position_[i]);
    }
  }

  void add_gradient(const Step& step) {
    if (traits(step.op).movement.carries != Carries::summands) return;
    const ValueId value(step.inputs[0]);
    if (purpose_of(plan_, program_.values[value.index()]) != Value::Purpose::gradients) return;
    StepGradient gradient;
    for (const TensorId tensor : bound_.values[value]) {
      if (!tensor) continue;
      gradient.bytes = static_cast<double>(bound_.tensors[tensor].spec.bytes);
      for (const InstanceId writer : bound_.tensors[tensor].writers)
        gradient.ready = std::max(gradient.ready, position_[writer]);
    }
    step_.gradients.push_back(gradient);
  }

  const Plan& plan_;
  const Program& program_;
  const BoundProgram& bound_;
  const Schedule& schedule_;
  const VariableStore& store_;
  const LaneId lane_;
  const Estimate& estimate_;
  TrainingStep step_;
  IdVector<InstanceId, int> position_;                   ///< among TrainingStep::seconds
  IdVector<TensorId, std::optional<NodeId>> parameter_;  ///< by root: the parameter that it is another form of
  std::map<NodeId, StepParameter> parameters_;
};

}  // namespace

double TrainingStep::compute_seconds() const { return std::accumulate(seconds.begin(), seconds.end(), update_seconds); }

Result<TrainingStep> training_step(const Plan& plan, const Program& program, const PlannedProgram& planned,
                                   const DeviceSet& devices, const Estimate& estimate) {
  if (!estimate.no_times.empty()) return Error({plan.file}, "there are no times: " + estimate.no_times);
  TrainingStep step = StepReader(plan, program, planned, devices, estimate).run();
  if (step.gradients.empty())
    return Error({plan.file}, "the model has no DataParallel layer with parameters to train: more devices do nothing for it");
  return step;
}

}  // namespace sheaf
