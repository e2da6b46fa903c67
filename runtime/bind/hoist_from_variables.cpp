// On asynchronous lanes, generated kernels that read nothing but variables come first, equal ones together: many small launches
// become few (Device::merge). Examples are the conversions of parameters to bf16, each of which would otherwise stand before its first
// reader.
#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

#include <algorithm>
#include <tuple>

namespace sheaf {
namespace {

class Hoisting {
 public:
  Hoisting(const BoundProgram& program, const BindContext& context)
      : program_(program), context_(context), hoisted_(program.instances.size(), false) {}

  /// The instances that are hoisted, in their new order.
  std::vector<InstanceId> find() {
    new_values_.assign(program_.tensors.size(), false);
    for (const BoundProgram::Update& update : program_.updates) new_values_[program_.root(update.value).tensor] = true;
    IdVector<InstanceId, int> levels(hoisted_.size(), 0);  // how many that are hoisted come before it, one after another
    std::vector<InstanceId> found;
    for (InstanceId i : program_.instances.ids()) {  // after all that it reads
      if (!(hoisted_[i] = hoists(program_.instances[i]))) continue;
      for (TensorId input : program_.instances[i].inputs)
        for (InstanceId writer : program_.tensors[input].writers) levels[i] = std::max(levels[i], levels[writer] + 1);
      found.push_back(i);
    }
    const auto key = [&](InstanceId i) { return std::tuple(levels[i], context_.step(program_.instances[i].step).kernel, i); };
    std::sort(found.begin(), found.end(), [&](InstanceId a, InstanceId b) { return key(a) < key(b); });
    return found;
  }

 private:
  bool hoists(const Instance& instance) const {
    if (!instance.is<Instance::KernelCall>() || instance.can_fail() || !instance.after.empty() || instance.inputs.empty())
      return false;
    if (!context_.devices.device(instance.lane).info().asynchronous) return false;
    // What makes a variable's new value comes last.
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
  const std::vector<InstanceId> hoisted = Hoisting(program, context).find();
  if (hoisted.empty()) return {};
  std::vector<InstanceGroup> groups;
  int64_t time = -static_cast<int64_t>(hoisted.size());
  for (InstanceId i : hoisted) groups.push_back({{i}, time++});
  return rearrange(program, groups, stand_alone(program).instead);
}

}  // namespace sheaf
