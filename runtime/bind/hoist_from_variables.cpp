// On asynchronous lanes, generated kernels and changes of dtype that read only variables come first, equal ones together: many
// small launches become few (Device::merge). Examples are the conversions of parameters to bf16, each of which would otherwise
// come just before its first reader.
#include "runtime/bind/side_by_side.h"

#include <algorithm>

namespace sheaf {
namespace {

class Hoisting {
 public:
  Hoisting(const BoundProgram& program, const BindContext& context)
      : program_(program), context_(context), hoisted_(program.instances.size(), false) {}

  /// The instances that are hoisted.
  IdVector<InstanceId, bool> find() {
    new_values_.assign(program_.tensors.size(), false);
    for (const BoundProgram::Update& update : program_.updates) new_values_[program_.root(update.value).tensor] = true;
    for (InstanceId i : program_.instances.ids()) hoisted_[i] = hoists(program_.instances[i]);  // after all that it reads
    return std::move(hoisted_);
  }

 private:
  bool hoists(const Instance& instance) const {
    const bool many = instance.is<Instance::KernelCall>() ||
                      (instance.is<Instance::Reorder>() && !launch_key(program_, context_.program, instance).empty());
    if (!many || instance.can_fail() || !instance.after.empty() || instance.inputs.empty()) return false;
    if (!context_.devices.device(instance.lane).info().asynchronous) return false;
    // An instance that makes a variable's new value comes last.
    const auto is_new = [&](TensorId output) { return new_values_[program_.root(output).tensor]; };
    if (std::any_of(instance.outputs.begin(), instance.outputs.end(), is_new)) return false;
    return std::all_of(instance.inputs.begin(), instance.inputs.end(), [&](TensorId input) {
      if (program_.home(input).lies<Tensor::Stored>()) return true;
      const auto& writers = program_.tensors[program_.root(input).tensor].writers;
      return !writers.empty() &&
             std::all_of(writers.begin(), writers.end(), [&](InstanceId writer) { return hoisted_[writer]; });
    });
  }

  const BoundProgram& program_;
  const BindContext& context_;
  IdVector<InstanceId, bool> hoisted_;
  IdVector<TensorId, bool> new_values_;  ///< by root
};

}  // namespace

Result<void> hoist_from_variables(BoundProgram& program, const BindContext& context) {
  if (program.updates.empty()) return {};
  return put_side_by_side(program, context, Hoisting(program, context).find(), Side::first);
}

}  // namespace sheaf
