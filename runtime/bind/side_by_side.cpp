#include "runtime/bind/side_by_side.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace sheaf {

bool converts(const BoundProgram& program, const Instance& instance) {
  return instance.is<Instance::Reorder>() &&
         program.tensors[instance.inputs[0]].spec.dtype != program.tensors[instance.outputs[0]].spec.dtype;
}

std::string launch_key(const BoundProgram& program, const Program& plan, const Instance& instance) {
  const auto dtype = [&](TensorId tensor) { return std::string(name_of(program.tensors[tensor].spec.dtype)); };
  if (converts(program, instance)) return dtype(instance.inputs[0]) + " to " + dtype(instance.outputs[0]);
  if (const auto* call = std::get_if<Instance::KernelCall>(&instance.work)) return call->kernel;
  return instance.step ? plan.steps[instance.step.index()].kernel : std::string();
}

Result<void> put_side_by_side(BoundProgram& program, const BindContext& context, const IdVector<InstanceId, bool>& chosen,
                              Side side) {
  std::vector<InstanceId> found;
  IdVector<InstanceId, int> levels(chosen.size(), 0);  // how many of the chosen ones come before it, one after another
  IdVector<InstanceId, std::vector<InstanceId>> readers(chosen.size());  // that are chosen
  IdVector<InstanceId, std::string> names(chosen.size());                // launch_key() of those that are
  for (InstanceId i : chosen.ids()) {
    if (!chosen[i]) continue;
    for (TensorId input : program.instances[i].inputs) {
      for (InstanceId writer : program.tensors[input].writers) {
        if (!chosen[writer]) continue;
        levels[i] = std::max(levels[i], levels[writer] + 1);
        readers[writer].push_back(i);
      }
    }
    names[i] = launch_key(program, context.program, program.instances[i]);
    found.push_back(i);
  }
  if (found.empty()) return {};
  // As late as their readers, or the last of their kind, allow: an update of data that are there already goes with those of
  // data that are converted first.
  std::map<std::string, int> last;
  for (InstanceId i : found)
    if (int& level = last[names[i]]; readers[i].empty()) level = std::max(level, levels[i]);
  for (size_t i = found.size(); i-- > 0;) {
    const auto& by = readers[found[i]];
    int& level = levels[found[i]];
    if (by.empty()) level = last[names[found[i]]];
    else level = levels[std::ranges::min(by, {}, [&](InstanceId reader) { return levels[reader]; })] - 1;
  }
  std::sort(found.begin(), found.end(),
            [&](InstanceId a, InstanceId b) { return std::tie(levels[a], names[a], a) < std::tie(levels[b], names[b], b); });
  std::vector<InstanceGroup> groups;
  int64_t time = side == Side::first ? -static_cast<int64_t>(found.size()) : 2 * static_cast<int64_t>(program.instances.size());
  for (InstanceId i : found) groups.push_back({{i}, time++});
  return rearrange(program, groups, stand_alone(program).instead);
}

}  // namespace sheaf
