#include "runtime/bind/side_by_side.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace sheaf {

std::string launch_key(const BoundProgram& program, const Program& plan, const Instance& instance) {
  if (instance.is<Instance::Reorder>()) {
    const DType from = program.tensors[instance.inputs[0]].spec.dtype, to = program.tensors[instance.outputs[0]].spec.dtype;
    if (from != to) return std::string(name_of(from)) + " to " + std::string(name_of(to));
  }
  return instance.step ? plan.steps[instance.step.index()].kernel : std::string();
}

Result<void> put_side_by_side(BoundProgram& program, const BindContext& context, const IdVector<InstanceId, bool>& chosen,
                              Side side) {
  std::vector<InstanceId> found;
  IdVector<InstanceId, int> levels(chosen.size(), 0);  // how many that are chosen come before it, one after another
  IdVector<InstanceId, std::vector<InstanceId>> readers(chosen.size());  // that are chosen
  for (InstanceId i : chosen.ids()) {
    if (!chosen[i]) continue;
    for (TensorId input : program.instances[i].inputs) {
      for (InstanceId writer : program.tensors[input].writers) {
        if (!chosen[writer]) continue;
        levels[i] = std::max(levels[i], levels[writer] + 1);
        readers[writer].push_back(i);
      }
    }
    found.push_back(i);
  }
  if (found.empty()) return {};
  const auto name = [&](InstanceId i) { return launch_key(program, context.program, program.instances[i]); };
  // As late as their readers let them, or the last of their kind come: an update of what is there already goes with those of what is
  // converted first.
  std::map<std::string, int> last;
  for (InstanceId i : found)
    if (int& level = last[name(i)]; readers[i].empty()) level = std::max(level, levels[i]);
  for (size_t i = found.size(); i-- > 0;) {
    int& level = levels[found[i]];
    if (readers[found[i]].empty()) level = last[name(found[i])];
    else
      level = levels[*std::min_element(readers[found[i]].begin(), readers[found[i]].end(),
                                       [&](InstanceId a, InstanceId b) { return levels[a] < levels[b]; })] -
              1;
  }
  const auto key = [&](InstanceId i) { return std::tuple(levels[i], name(i), i); };
  std::sort(found.begin(), found.end(), [&](InstanceId a, InstanceId b) { return key(a) < key(b); });
  std::vector<InstanceGroup> groups;
  int64_t time = side == Side::first ? -static_cast<int64_t>(found.size()) : 2 * static_cast<int64_t>(program.instances.size());
  for (InstanceId i : found) groups.push_back({{i}, time++});
  return rearrange(program, groups, stand_alone(program).instead);
}

}  // namespace sheaf
