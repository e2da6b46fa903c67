#include "tools/estimate/purposes.h"

#include <optional>

namespace sheaf {
namespace {

class TensorPurposes {
 public:
  TensorPurposes(const BoundProgram& bound, const Plan& plan, const Program& program, const VariableStore& store)
      : bound_(bound), plan_(plan), store_(store), known_(bound.tensors.size()) {
    for (size_t i = 0; i < program.values.size(); ++i)
      for (TensorId tensor : bound.values[ValueId(i)])
        if (tensor) known_[tensor] = purpose_of(plan, program.values[i]);
  }

  IdVector<TensorId, Value::Purpose> run() {
    IdVector<TensorId, Value::Purpose> purposes;
    for (TensorId tensor : bound_.tensors.ids()) purposes.push_back(of(tensor));
    return purposes;
  }

 private:
  Value::Purpose of(TensorId tensor) {
    if (!known_[tensor]) known_[tensor] = find(tensor);
    return *known_[tensor];
  }

  /// Values that binding added have the purpose of their source.
  Value::Purpose find(TensorId id) {
    const Tensor& tensor = bound_.tensors[id];
    if (const auto* view = tensor.lies<Tensor::View>()) return of(view->of);
    if (const auto* stored = tensor.lies<Tensor::Stored>()) return purpose_of(plan_, store_.nodes()[stored->node]);
    if (tensor.writers.empty()) return Value::Purpose::communication;  // the caller's
    const Instance* made = &bound_.instances[tensor.writers.front()];
    while (made->left_out()) {  // a copied value is made here, so a view of it is too
      const TensorId part = made->inputs[0];
      if (known_[part]) return *known_[part];
      made = &bound_.instances[bound_.tensors[part].writers.front()];
    }
    const Instance& writer = *made;
    if (writer.is<Instance::Receive>()) return Value::Purpose::communication;
    if (writer.inputs.empty()) return Value::Purpose::activations;
    const Value::Purpose source = of(writer.inputs[0]);
    // A parameter in a library's format.
    return writer.is<Instance::Reorder>() && source == Value::Purpose::parameters ? Value::Purpose::derived : source;
  }

  const BoundProgram& bound_;
  const Plan& plan_;
  const VariableStore& store_;
  IdVector<TensorId, std::optional<Value::Purpose>> known_;
};

}  // namespace

IdVector<TensorId, Value::Purpose> purposes_of_tensors(const BoundProgram& bound, const Plan& plan, const Program& program,
                                                       const VariableStore& store) {
  return TensorPurposes(bound, plan, program, store).run();
}

Value::Purpose purpose_of(const Plan& plan, const VariableStore::Node& node) {
  switch (node.kind) {
    case VariableStore::Kind::parameter:
    case VariableStore::Kind::buffer: return Value::Purpose::parameters;
    case VariableStore::Kind::state: return purpose_of_state(plan, node.name);
    case VariableStore::Kind::derived: break;
  }
  return Value::Purpose::derived;
}

}  // namespace sheaf
