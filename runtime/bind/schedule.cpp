#include "runtime/bind/schedule.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

/// The instances that write `tensor`; if a copy was left out, those that write its source.
void collect_writers(const BoundProgram& program, TensorId tensor, std::vector<InstanceId>& writers) {
  for (InstanceId writer : program.tensors[tensor].writers) {
    const Instance& instance = program.instances[writer];
    if (instance.left_out()) {
      collect_writers(program, instance.inputs[0], writers);
    } else {
      writers.push_back(writer);
    }
  }
}

class Scheduling {
 public:
  Scheduling(const BoundProgram& program, const BindContext& context)
      : program_(program),
        devices_(context.devices),
        observe_(context.observe),
        first_(context.parts.outputs > 0 ? first_part(program, context.parts.outputs)
                                         : IdVector<InstanceId, bool>(program.instances.size(), true)),
        decided_(context.devices.lanes().size(), std::vector<bool>(program.instances.size(), false)) {
    made_.lanes.resize(devices_.lanes().size());
    made_.instances.resize(program.instances.size());
    made_.first_part.resize(devices_.lanes().size(), 0);
  }

  Schedule run() {
    int turn = 0;
    for (InstanceId i : order()) {
      if (program_.instances[i].left_out()) continue;
      add(i);
      made_.instances[i].turn = turn++;
    }
    return std::move(made_);
  }

 private:
  bool asynchronous(LaneId lane) const { return devices_.device(lane).info().asynchronous; }

  /// Early instances first, those that only give something to the caller last.
  std::vector<InstanceId> order() const {
    const auto ids = program_.instances.ids();
    std::vector<InstanceId> order(ids.begin(), ids.end());
    const IdVector<InstanceId, bool> late = only_give();
    // An observer sees values in the instances' order, so each lane has that order then.
    if (observe_) return order;
    const auto turn = [&](InstanceId i) { return (first_[i] ? 0 : 3) + (program_.instances[i].early ? 0 : late[i] ? 2 : 1); };
    std::stable_sort(order.begin(), order.end(), [&](InstanceId a, InstanceId b) { return turn(a) < turn(b); });
    return order;
  }

  /// By instance: whether it only copies an output from an asynchronous device to the caller, and nobody waits for it. Earlier,
  /// it would cut recordable work in two.
  IdVector<InstanceId, bool> only_give() const {
    IdVector<InstanceId, bool> late(program_.instances.size(), false);
    for (InstanceId i : program_.instances.ids()) {
      const Instance& instance = program_.instances[i];
      late[i] = instance.is<Instance::Copy>() && !instance.left_out() && asynchronous(instance.lane) &&
                program_.home(instance.outputs[0]).lies<Tensor::Wanted>();
    }
    for (const Instance& instance : program_.instances) {
      for (InstanceId other : instance.after) late[other] = false;
      for (TensorId input : instance.inputs)
        for (InstanceId writer : program_.tensors[input].writers) late[writer] = false;
    }
    return late;
  }

  void add(InstanceId i) {
    const Instance& instance = program_.instances[i];
    ScheduledInstance& scheduled = made_.instances[i];
    auto& lane = made_.lanes[instance.lane];
    auto& known = scheduled.known_done;
    if (lane.empty()) known.assign(devices_.lanes().size(), 0);
    else known = made_.instances[lane.back()].known_done;
    scheduled.position = static_cast<int>(lane.size());
    known[instance.lane] = scheduled.position;

    // A wait for these means more than that they are done.
    for (InstanceId other : deciders(instance)) {
      wait(instance.lane, scheduled, other, true);
      decided_[instance.lane][other.index()] = true;
      const LaneId source = program_.instances[other].lane;
      if (source != instance.lane) known[source] = std::max(known[source], made_.instances[other].position + 1);
    }
    std::vector<InstanceId> writers;
    for (TensorId input : instance.inputs) collect_writers(program_, input, writers);
    for (InstanceId other : instance.after)
      if (!program_.instances[other].left_out()) writers.push_back(other);
    std::sort(writers.begin(), writers.end(), std::greater<>());  // a later wait often implies the earlier ones
    for (InstanceId writer : writers) {
      const LaneId source = program_.instances[writer].lane;
      const ScheduledInstance& theirs = made_.instances[writer];
      if (source == instance.lane || known[source] > theirs.position) continue;
      wait(instance.lane, scheduled, writer, false);
      known[source] = theirs.position + 1;
      for (LaneId l : devices_.lanes())
        if (tells(source, instance.lane, l)) known[l] = std::max(known[l], theirs.known_done[l]);
    }
    lane.push_back(i);
    if (first_[i]) made_.first_part[instance.lane] = lane.size();
  }

  /// What another process runs waits for messages only.
  void wait(LaneId lane, ScheduledInstance& scheduled, InstanceId other, bool decides) {
    scheduled.waits.push_back({other, decides});
    made_.instances[other].signals |= devices_.here(lane);
  }

  /// The instances of other lanes, or of its own, that `instance` depends on without its device being able to tell.
  std::vector<InstanceId> deciders(const Instance& instance) const {
    std::vector<InstanceId> found;
    if (!instance.commits && !instance.is<Instance::Agree>()) return found;
    for (InstanceId other : instance.after) {
      const Instance& source = program_.instances[other];
      if (!source.can_fail() || decided_[instance.lane][other.index()] || !asynchronous(source.lane)) continue;
      if (source.lane != instance.lane || !guardable(program_, instance, devices_)) found.push_back(other);
    }
    return found;
  }

  /// Data that a device has brought to the host's memory are valid only once somebody has waited for that device itself: the
  /// host learns nothing from another device's work that followed on the devices. And a rank learns nothing of its own lanes from
  /// another rank's message: where a stream receives it, this process doesn't know what came before it there.
  bool tells(LaneId source, LaneId lane, LaneId of) const {
    if (devices_.rank(source) != devices_.rank(lane) && devices_.rank(of) == devices_.rank(lane)) return false;
    return of == source || asynchronous(lane) || !asynchronous(source) || !asynchronous(of);
  }

  const BoundProgram& program_;
  const DeviceSet& devices_;
  const bool observe_;
  const IdVector<InstanceId, bool> first_;  ///< done in the first part of a run
  Schedule made_;
  IdVector<LaneId, std::vector<bool>> decided_;  ///< by lane and instance: what the lane has waited for already
};

}  // namespace

IdRange<LaneId> shown_lanes(const Schedule& schedule, const DeviceSet& devices) {
  size_t count = schedule.lanes.size();
  while (devices.messenger(LaneId(count - 1)) && schedule.lanes[LaneId(count - 1)].empty()) --count;
  return IdRange<LaneId>(count);
}

bool guardable(const BoundProgram& program, const Instance& instance, const DeviceSet& devices) {
  if (const Instance::Call* call = instance.call()) return !call->executable || call->executable->guardable();
  const auto space = [&](LaneId lane) { return devices.device(lane).memory_space(); };
  const auto within = [&](TensorId tensor) { return space(program.home(tensor).lane) == space(instance.lane); };
  return instance.is<Instance::Copy>() && within(instance.inputs[0]) && within(instance.outputs[0]);
}

IdVector<InstanceId, bool> first_part(const BoundProgram& program, size_t outputs) {
  IdVector<InstanceId, bool> needed(program.instances.size(), false);
  std::vector<InstanceId> open;
  const auto need = [&](InstanceId i) {
    if (needed[i]) return;
    needed[i] = true;
    open.push_back(i);
  };
  for (size_t i = 0; i < outputs; ++i)
    for (InstanceId writer : program.tensors[program.outputs[i]].writers) need(writer);
  while (!open.empty()) {
    const Instance& instance = program.instances[open.back()];
    open.pop_back();
    for (TensorId input : instance.inputs)
      for (InstanceId writer : program.tensors[input].writers) need(writer);
    for (InstanceId before : instance.after) need(before);
    if (instance.collective < 0) continue;
    for (InstanceId other : program.instances.ids())
      if (program.instances[other].collective == instance.collective) need(other);
  }
  return needed;
}

Schedule schedule(const BoundProgram& program, const BindContext& context) { return Scheduling(program, context).run(); }

Result<void> check_messages(const BoundProgram& program) {
  IdVector<InstanceId, LaneId> receivers(program.instances.size());  // by send
  for (const Instance& one : program.instances)
    for (const InstanceId before : one.is<Instance::Receive>() ? one.after : std::vector<InstanceId>())
      if (program.instances[before].is<Instance::Send>()) receivers[before] = one.lane;
  std::map<LaneId, InstanceId> open;  // by lane: a send whose receive is yet to follow
  for (const InstanceId i : program.instances.ids()) {
    const Instance& one = program.instances[i];
    const auto before = open.find(one.lane);
    if (before != open.end() && std::ranges::count(one.after, before->second) == 0)
      return Error("a message's receipt doesn't follow its sending: a bug of sheaf's binding");
    if (before != open.end()) std::erase_if(open, [sent = before->second](const auto& lane) { return lane.second == sent; });
    if (!one.is<Instance::Send>()) continue;
    open[one.lane] = i;
    open[receivers[i]] = i;
  }
  return {};
}

Result<void> check_collectives(const BoundProgram& program, const Schedule& schedule) {
  for (const auto& lane : schedule.lanes) {
    int last = -1;
    for (InstanceId i : lane) {
      const int collective = program.instances[i].collective;
      if (collective < 0) continue;
      if (collective <= last)
        return Error("operations among devices have different orders on their lanes: a bug in sheaf's binding");
      last = collective;
    }
  }
  return {};
}

}  // namespace sheaf
