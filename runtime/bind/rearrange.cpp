#include "runtime/bind/order.h"

#include <algorithm>
#include <map>

namespace sheaf {

Result<void> rearrange(BoundProgram& program, const std::vector<InstanceGroup>& groups,
                       const IdVector<InstanceId, InstanceId>& instead) {
  Standing standing = stand_alone(program);
  standing.instead = instead;
  IdVector<InstanceId, int64_t> times;
  for (size_t i = 0; i < instead.size(); ++i) times.push_back(2 * static_cast<int64_t>(i));
  std::map<InstanceId, const std::vector<InstanceId>*> members;  // by leader
  for (const InstanceGroup& group : groups) {
    const InstanceId leader = group.members[0];
    for (InstanceId member : group.members) standing.leaders[member] = leader;
    times[leader] = group.time;
    members[leader] = &group.members;
  }
  SHEAF_ASSIGN(const auto order, find_order(program, standing, times));
  IdVector<InstanceId, InstanceId> now(program.instances.size());
  IdVector<InstanceId, Instance> instances;
  const auto take = [&](InstanceId old) -> Instance& {
    now[old] = instances.next();
    return instances.emplace_back(std::move(program.instances[old]));
  };
  int collectives = 0;
  for (InstanceId leader : order) {
    const auto group = members.find(leader);
    if (group == members.end() || group->second->size() == 1) {
      take(leader);
      continue;
    }
    for (InstanceId member : *group->second) take(member).collective = collectives;
    ++collectives;
  }
  const auto renumber = [&](std::vector<InstanceId>& ids) {
    for (InstanceId& id : ids) id = now[instead[id]];
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  };
  program.instances = std::move(instances);
  for (Instance& instance : program.instances) renumber(instance.after);
  for (Tensor& tensor : program.tensors) renumber(tensor.writers);
  if (program.guard) program.guard = now[instead[program.guard]];
  return {};
}

}  // namespace sheaf
