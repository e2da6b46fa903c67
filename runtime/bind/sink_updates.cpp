// On asynchronous lanes, operations that only make new values of variables come last, equal kernels together: there they may
// write over the variables, and many small launches become few (Device::merge). Examples are a batch norm's running averages, a
// counter, gradients that become f32 and the optimiser's updates.
#include "runtime/bind/side_by_side.h"

#include <algorithm>

namespace sheaf {
namespace {

class Sinking {
 public:
  Sinking(const BoundProgram& program, const BindContext& context)
      : program_(program), context_(context), sinks_(program.instances.size(), false) {}

  /// The instances that sink.
  IdVector<InstanceId, bool> find() {
    find_readers();
    // Readers come after what they read, so a single pass from the end sees each instance after all of its readers.
    for (size_t i = sinks_.size(); i-- > 0;) sinks_[InstanceId(i)] = sinks(InstanceId(i));
    return std::move(sinks_);
  }

 private:
  void find_readers() {
    updates_.assign(program_.tensors.size(), false);
    readers_.resize(program_.tensors.size());
    for (const BoundProgram::Update& update : program_.updates) updates_[program_.root(update.value).tensor] = true;
    for (TensorId output : program_.outputs) readers_[program_.root(output).tensor].push_back({});
    for (InstanceId i : program_.instances.ids()) {
      for (TensorId input : program_.instances[i].inputs) readers_[program_.root(input).tensor].push_back(i);
      for (InstanceId before : program_.instances[i].after) needed_.push_back(before);
    }
  }

  bool sinks(InstanceId i) const {
    const Instance& instance = program_.instances[i];
    if (!instance.call() || instance.can_fail() || launch_key(program_, context_.program, instance).empty()) return false;
    if (!context_.devices.device(instance.lane).info().asynchronous) return false;
    if (std::find(needed_.begin(), needed_.end(), i) != needed_.end()) return false;
    return std::all_of(instance.outputs.begin(), instance.outputs.end(), [&](TensorId output) {
      const TensorId root = program_.root(output).tensor;
      const auto& readers = readers_[root];
      return (updates_[root] || !readers.empty()) &&
             std::all_of(readers.begin(), readers.end(), [&](InstanceId reader) { return reader && sinks_[reader]; });
    });
  }

  const BoundProgram& program_;
  const BindContext& context_;
  IdVector<InstanceId, bool> sinks_;
  IdVector<TensorId, bool> updates_;                     ///< by root: the variable it becomes
  IdVector<TensorId, std::vector<InstanceId>> readers_;  ///< by root; none: the caller
  std::vector<InstanceId> needed_;                       ///< the instances that others wait for by name
};

}  // namespace

Result<void> sink_updates(BoundProgram& program, const BindContext& context) {
  if (program.updates.empty()) return {};
  return put_side_by_side(program, context, Sinking(program, context).find(), Side::last);
}

}  // namespace sheaf
