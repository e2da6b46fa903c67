#include "runtime/bind/side_by_side.h"

#include <algorithm>
#include <tuple>

namespace sheaf {

const std::string& kernel_of(const BoundProgram& program, const BindContext& context, InstanceId instance) {
  static const std::string none;
  const StepId step = program.instances[instance].step;
  return step ? context.step(step).kernel : none;
}

Result<void> put_side_by_side(BoundProgram& program, const BindContext& context, const IdVector<InstanceId, bool>& chosen,
                              Side side) {
  std::vector<InstanceId> found;
  IdVector<InstanceId, int> levels(chosen.size(), 0);  // how many that are chosen come before it, one after another
  for (InstanceId i : chosen.ids()) {
    if (!chosen[i]) continue;
    for (TensorId input : program.instances[i].inputs) {
      for (InstanceId writer : program.tensors[input].writers) {
        if (chosen[writer]) levels[i] = std::max(levels[i], levels[writer] + 1);
      }
    }
    found.push_back(i);
  }
  if (found.empty()) return {};
  const auto key = [&](InstanceId i) { return std::tuple(levels[i], kernel_of(program, context, i), i); };
  std::sort(found.begin(), found.end(), [&](InstanceId a, InstanceId b) { return key(a) < key(b); });
  std::vector<InstanceGroup> groups;
  int64_t time = side == Side::first ? -static_cast<int64_t>(found.size()) : 2 * static_cast<int64_t>(program.instances.size());
  for (InstanceId i : found) groups.push_back({{i}, time++});
  return rearrange(program, groups, stand_alone(program).instead);
}

}  // namespace sheaf
