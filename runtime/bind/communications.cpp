#include "runtime/bind/communications.h"

#include "runtime/bind/bound_program.h"
#include "runtime/bind/operation_info.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

class Finder {
 public:
  Finder(const BoundProgram& bound, const Program& program) : bound_(bound), program_(program) {
    for (size_t v = 0; v < program.values.size(); ++v) values_[program.values[v].name] = ValueId(v);
    makers_.assign(program.values.size(), nullptr);
    for (const Step& step : program.steps) {
      for (int output : step.outputs) makers_[ValueId(output)] = &step;
    }
    for (const Value& value : program.values) {
      const bool given = value.role == Value::input || value.role == Value::target || value.role == Value::setting;
      if (given) rows_.push_back(value.role != Value::setting);
    }
  }

  std::vector<Communication> find() {
    for (InstanceId i : bound_.instances.ids()) {
      const Instance& instance = bound_.instances[i];
      if (instance.left_out() || instance.is<Instance::Print>()) continue;
      if (instance.is<Instance::Send>()) continue;  // informed of where it arrives
      seen_.clear();
      if (instance.is<Instance::Receive>()) add_message(i);
      for (TensorId input : instance.inputs) add(input, i, instance);
      if (const auto* collective = instance.is<Instance::Collective>()) add_collective(i, *collective);
    }
    for (TensorId output : bound_.outputs) {
      seen_.clear();
      for (InstanceId writer : writers(output)) {
        const bool host = bound_.instances[writer].lane == kHostLane || bound_.instances[writer].is<Instance::Receive>();
        if (!host) add(writer, {}, output, nullptr);
      }
    }
    return std::move(found_);
  }

 private:
  /// The instances that produce the contents of `tensor`; if a copy was left out, those that produce its source.
  std::vector<InstanceId> writers(TensorId tensor) const {
    std::vector<InstanceId> all;
    for (InstanceId writer : bound_.tensors[tensor].writers) {
      const Instance& instance = bound_.instances[writer];
      if (!instance.left_out() && !instance.is<Instance::Print>()) {
        all.push_back(writer);
      } else {
        const std::vector<InstanceId> behind = writers(instance.inputs[0]);
        all.insert(all.end(), behind.begin(), behind.end());
      }
    }
    return all;
  }

  /// What instance `i` receives from the other devices of its group, whose members follow the root.
  void add_collective(InstanceId i, const Instance::Collective& collective) {
    const auto together = [&](size_t other) {
      return bound_.instances[InstanceId(other)].collective == bound_.instances[i].collective;
    };
    size_t first = i.index(), end = i.index() + 1;
    while (first > 0 && together(first - 1)) --first;
    while (end < bound_.instances.size() && together(end)) ++end;
    const bool root = i.index() == first;
    if ((collective.kind == CollectiveRequest::broadcast) == root) return;
    const auto bytes = [&](const std::vector<TensorId>& operands) {
      size_t sum = 0;
      for (TensorId operand : operands) sum += bound_.tensors[operand].spec.bytes;
      return sum;
    };
    for (size_t from = root ? first + 1 : first; from < (root ? end : first + 1); ++from) {
      const size_t sent = bytes(root ? bound_.instances[InstanceId(from)].inputs : bound_.instances[i].outputs);
      found_.push_back({op_of(collective.kind), "", static_cast<int>(from), i.number(), sent});
    }
  }

  /// What a message carries, from its sending to its receipt.
  void add_message(InstanceId i) {
    const Instance& instance = bound_.instances[i];
    const Tensor& arrived = bound_.tensors[instance.outputs[0]];
    Communication found{Op::share, "", -1, i.number(), arrived.spec.bytes};
    for (const InstanceId other : instance.after)
      if (bound_.instances[other].is<Instance::Send>()) found.producer = other.number();
    const Step* step = instance.step ? &program_.steps[instance.step.index()] : mover(arrived.name);
    if (step) {
      found.op = step->op;
      found.layer = step->layer;
    }
    found_.push_back(std::move(found));
  }

  void add(TensorId input, InstanceId consumer, const Instance& instance) {
    for (InstanceId writer : writers(input)) {
      if (bound_.instances[writer].is<Instance::Receive>()) continue;
      if (bound_.instances[writer].lane != instance.lane) add(writer, consumer, input, &instance);
    }
    const auto* given = bound_.home(input).lies<Tensor::Given>();
    if (given && rows_[static_cast<size_t>(given->input)] && instance.lane != kHostLane) add({}, consumer, input, &instance);
  }

  /// `producer` none: the caller; likewise for `consumer`.
  void add(InstanceId producer, InstanceId consumer, TensorId tensor, const Instance* user) {
    const TensorId root = bound_.root(tensor).tensor;
    const std::pair source(producer, producer ? TensorId() : root);
    if (std::find(seen_.begin(), seen_.end(), source) != seen_.end()) return;
    seen_.push_back(source);
    Communication found{Op::share, {}, producer.number(), consumer.number(), bound_.tensors[tensor].spec.bytes};
    if (producer) {  // a part of a gathered value, or all of a scattered one
      for (TensorId made : bound_.instances[producer].outputs) {
        if (bound_.root(made).tensor == root) found.bytes = std::min(found.bytes, bound_.tensors[made].spec.bytes);
      }
    }
    const Step* step = user && user->step ? &program_.steps[user->step.index()] : nullptr;
    if (!step || !moves(step->op)) step = mover(bound_.tensors[tensor].name);
    if (step) {
      found.op = step->op;
      found.layer = step->layer;
    } else if (user && user->is<Instance::Fetch>()) {
      found.op = Op::transfer;
    }
    found_.push_back(std::move(found));
  }

  /// The step that brought the value to where it is used; null if it was made there.
  const Step* mover(const std::string& value) const {
    const auto known = values_.find(value);
    if (known == values_.end()) return nullptr;
    for (const Step* step = makers_[known->second]; step; step = makers_[ValueId(step->inputs[0])]) {
      if (moves(step->op)) return step;
      if ((step->op != Op::view && step->op != Op::print) || step->inputs.empty()) return nullptr;
    }
    return nullptr;
  }

  const BoundProgram& bound_;
  const Program& program_;
  std::map<std::string, ValueId> values_;
  IdVector<ValueId, const Step*> makers_;
  std::vector<bool> rows_;  ///< by program input: data, not a setting of the training loop
  std::vector<std::pair<InstanceId, TensorId>>
      seen_;  ///< what the current consumer was connected to: producers, or the caller's tensors
  std::vector<Communication> found_;
};

}  // namespace

std::vector<Communication> communications(const BoundProgram& bound, const Program& program) {
  return Finder(bound, program).find();
}

}  // namespace sheaf
