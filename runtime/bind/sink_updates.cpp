// On asynchronous lanes, operations that only make new values of variables come last, equal kernels together: there they may
// write over the variables, and many small launches become few (Device::merge). Examples are a batch norm's running averages, a
// counter and the optimiser's updates.
#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

#include <algorithm>
#include <tuple>

namespace sheaf {
namespace {

class Sinking {
 public:
  Sinking(const BoundProgram& program, const BindContext& context)
      : program_(program), context_(context), sinks_(program.instances.size(), false) {}

  /// The instances that sink, in their new order.
  std::vector<InstanceId> find() {
    find_readers();
    // Readers come after what they read, so one pass from the end sees each after all of its readers.
    for (size_t i = sinks_.size(); i-- > 0;) sinks_[InstanceId(i)] = sinks(InstanceId(i));
    std::vector<InstanceId> found;
    IdVector<InstanceId, int> levels(sinks_.size(), 0);  // how many that sink come before it, one after another
    for (InstanceId i : sinks_.ids()) {
      if (!sinks_[i]) continue;
      for (TensorId input : program_.instances[i].inputs) {
        for (InstanceId writer : program_.tensors[input].writers) {
          if (sinks_[writer]) levels[i] = std::max(levels[i], levels[writer] + 1);
        }
      }
      found.push_back(i);
    }
    const auto key = [&](InstanceId i) { return std::tuple(levels[i], kernel(i), i); };
    std::sort(found.begin(), found.end(), [&](InstanceId a, InstanceId b) { return key(a) < key(b); });
    return found;
  }

 private:
  const std::string& kernel(InstanceId i) const {
    static const std::string none;
    const StepId step = program_.instances[i].step;
    return step ? context_.step(step).kernel : none;
  }

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
    if (!instance.call() || instance.can_fail() || kernel(i).empty()) return false;
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
  IdVector<TensorId, bool> updates_;                     ///< by root: it is what a variable becomes
  IdVector<TensorId, std::vector<InstanceId>> readers_;  ///< by root; none: the caller
  std::vector<InstanceId> needed_;                       ///< the instances that others wait for by name
};

}  // namespace

Result<void> sink_updates(BoundProgram& program, const BindContext& context) {
  if (program.updates.empty()) return {};
  const std::vector<InstanceId> sinking = Sinking(program, context).find();
  if (sinking.empty()) return {};
  std::vector<InstanceGroup> groups;
  int64_t time = 2 * static_cast<int64_t>(program.instances.size());
  for (InstanceId i : sinking) groups.push_back({{i}, time++});
  return rearrange(program, groups, stand_alone(program).instead);
}

}  // namespace sheaf
