#include "tools/estimate/memory_classes.h"

#include "runtime/base/index.h"
#include "runtime/ops/traits.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace sheaf {
namespace {

/// The sums of micro-batches live only for a step.
bool is_sum_of_gradients(const Plan& plan, const std::string& state) {
  return std::any_of(plan.state.begin(), plan.state.end(),
                     [&](const Parameter& entry) { return entry.name == state && entry.transient; });
}

/// Finds the parameters' gradients: the values that the steps making the new parameters read besides parameters, the
/// optimiser's state and settings, and the values that those were moved, summed, clipped or accumulated from.
class Gradients {
 public:
  Gradients(const Plan& plan, const Program& program, std::vector<MemoryClass>& classes)
      : plan_(plan),
        program_(program),
        classes_(classes),
        producers_(program.values.size(), nullptr),
        seen_(program.values.size(), false) {
    for (const Step& step : program.steps) {
      for (int output : step.outputs) producers_[index_of(output)] = &step;
    }
    for (const Update& update : program.updates) {
      if (is_state(update.name)) new_state_.insert(update.value);
    }
  }

  void find() {
    for (const Update& update : program_.updates) {
      const Value& value = program_.values[index_of(update.value)];
      if ((is_parameter(update.name) || is_sum_of_gradients(plan_, update.name)) &&
          has_state_or_parameter(update.value, update.name))
        visit(update.value, value.shape);
    }
  }

 private:
  bool is_parameter(const std::string& name) const {
    return std::any_of(program_.values.begin(), program_.values.end(),
                       [&](const Value& value) { return value.role == Value::parameter && value.source == name; });
  }

  bool is_state(const std::string& name) const {
    return std::any_of(program_.values.begin(), program_.values.end(),
                       [&](const Value& value) { return value.role == Value::state && value.source == name; });
  }

  /// The step that makes `value` is the optimiser's: it reads the parameter's old value or its state, or what is to be
  /// its new state.
  bool has_state_or_parameter(int value, const std::string& parameter) const {
    const Step* step = producers_[index_of(value)];
    if (!step || moves(step->op)) return false;
    return std::any_of(step->inputs.begin(), step->inputs.end(), [&](int input) {
      const Value& read = program_.values[index_of(input)];
      if (read.role == Value::state || (read.role == Value::parameter && read.source == parameter)) return true;
      return read.role == Value::temporary && new_state_.contains(input);
    });
  }

  /// `value` is made by a step of the optimiser: that step's inputs of the parameter's shape are the optimiser's too, or
  /// gradients.
  void visit(int value, const std::vector<Extent>& shape) {
    if (seen_[index_of(value)] || !producers_[index_of(value)]) return;
    seen_[index_of(value)] = true;
    for (int input : producers_[index_of(value)]->inputs) {
      const Value& read = program_.values[index_of(input)];
      if (read.role != Value::temporary || read.shape != shape) continue;
      if (has_state_or_parameter(input, std::string())) {
        classes_[index_of(input)] = MemoryClass::optimizer;
        visit(input, shape);
      } else {
        mark(input);
      }
    }
  }

  /// `value` is a gradient, and so is what it was moved, summed or scaled from.
  void mark(int value) {
    if (classes_[index_of(value)] == MemoryClass::gradients) return;
    classes_[index_of(value)] = MemoryClass::gradients;
    const Step* step = producers_[index_of(value)];
    if (!step) return;
    const auto& shape = program_.values[index_of(value)].shape;
    const auto from_it = [&](int input) {
      const Value& read = program_.values[index_of(input)];
      return read.role == Value::temporary && (read.shape == shape || read.shape.empty());
    };
    const bool element_wise = step->op == Op::kernel && std::all_of(step->inputs.begin(), step->inputs.end(), from_it);
    if (!element_wise && !moves(step->op) && step->op != Op::view) return;
    for (int input : step->inputs) {
      const Value& read = program_.values[index_of(input)];
      if (read.role == Value::temporary && (step->op == Op::view || read.shape == shape)) mark(input);
    }
  }

  const Plan& plan_;
  const Program& program_;
  std::vector<MemoryClass>& classes_;
  std::vector<const Step*> producers_;
  std::set<int> new_state_;  ///< values
  std::vector<bool> seen_;
};

MemoryClass class_of_role(const Plan& plan, const Value& value) {
  switch (value.role) {
    case Value::parameter:
    case Value::buffer: return MemoryClass::parameters;
    case Value::state: return is_sum_of_gradients(plan, value.source) ? MemoryClass::gradients : MemoryClass::optimizer;
    case Value::input:
    case Value::target:
    case Value::setting: return MemoryClass::communication;
    case Value::temporary: return MemoryClass::activations;
  }
  return MemoryClass::activations;
}

}  // namespace

const char* name_of(MemoryClass kind) {
  constexpr const char* kNames[] = {"parameters",  "derived",   "gradients",    "optimizer",
                                    "activations", "workspace", "communication"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<MemoryClass> classes_of_values(const Plan& plan, const Program& program) {
  std::vector<MemoryClass> classes;
  for (const Value& value : program.values) classes.push_back(class_of_role(plan, value));
  for (const Step& step : program.steps) {
    for (int output : step.outputs) {
      MemoryClass& kind = classes[index_of(output)];
      if (is_workspace(step, program.values[index_of(output)])) kind = MemoryClass::workspace;
      if (!moves(step.op)) continue;
      // A replica's copy of a parameter is still a parameter.
      const MemoryClass from = classes[index_of(step.inputs[0])];
      kind = from == MemoryClass::parameters || from == MemoryClass::derived ? from : MemoryClass::communication;
    }
    if (step.once) {
      for (int output : step.outputs) {
        if (!moves(step.op)) classes[index_of(output)] = MemoryClass::derived;
      }
    }
  }
  Gradients(plan, program, classes).find();
  for (const Update& update : program.updates) {
    const bool state =
        std::any_of(plan.state.begin(), plan.state.end(), [&](const Parameter& entry) { return entry.name == update.name; });
    if (program.values[index_of(update.value)].role != Value::temporary) continue;
    classes[index_of(update.value)] = !state                                   ? MemoryClass::parameters
                                      : is_sum_of_gradients(plan, update.name) ? MemoryClass::gradients
                                                                               : MemoryClass::optimizer;
  }
  return classes;
}

MemoryClass class_of(const Plan& plan, const ConstantStore::Node& node) {
  switch (node.kind) {
    case ConstantStore::Kind::parameter:
    case ConstantStore::Kind::buffer: return MemoryClass::parameters;
    case ConstantStore::Kind::state:
      return is_sum_of_gradients(plan, node.name) ? MemoryClass::gradients : MemoryClass::optimizer;
    case ConstantStore::Kind::derived: return MemoryClass::derived;
  }
  return MemoryClass::derived;
}

IdVector<TensorId, MemoryClass> classes_of_tensors(const BoundProgram& bound, const Plan& plan, const Program& program) {
  const std::vector<MemoryClass> of_values = classes_of_values(plan, program);
  std::map<std::string_view, MemoryClass> by_name;
  for (size_t i = 0; i < program.values.size(); ++i) {
    by_name.emplace(program.values[i].name, of_values[i]);
    if (!program.values[i].source.empty()) by_name.emplace(program.values[i].source, of_values[i]);
  }
  IdVector<TensorId, MemoryClass> classes;
  for (const Tensor& tensor : bound.tensors) {
    const auto known = by_name.find(tensor.name);
    MemoryClass kind = known == by_name.end() ? MemoryClass::activations : known->second;
    // Made by a reorder: a parameter in a library's format.
    const bool reordered = !tensor.writers.empty() && bound.instances[tensor.writers.front()].is<Instance::Reorder>();
    if (reordered && kind == MemoryClass::parameters) kind = MemoryClass::derived;
    classes.push_back(kind);
  }
  return classes;
}

}  // namespace sheaf
