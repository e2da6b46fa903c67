#include "runtime/bind/graph.h"

#include <algorithm>
#include <numeric>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// The instances that write `tensor`. Where a copy was left out, those that write its source.
void collect_writers(const Graph& graph, int tensor, std::vector<int>& writers) {
  for (int writer : graph.tensors[index_of(tensor)].writers) {
    const Instance& instance = graph.instances[index_of(writer)];
    if (instance.elided) {
      collect_writers(graph, instance.inputs[0], writers);
    } else {
      writers.push_back(writer);
    }
  }
}

/// By instance: whether it only copies an output from an asynchronous device to the caller, and nobody waits for it. In
/// between, it would cut in two what can be recorded.
std::vector<bool> only_give(const Graph& graph, const DeviceSet& devices) {
  std::vector<bool> late(graph.instances.size(), false);
  for (size_t i = 0; i < late.size(); ++i) {
    const Instance& instance = graph.instances[i];
    late[i] = instance.kind == Instance::copy && !instance.elided && devices.device(instance.lane).info().asynchronous &&
              graph.tensors[index_of(graph.root(instance.outputs[0]).tensor)].output >= 0;
  }
  for (const Instance& instance : graph.instances) {
    for (int other : instance.after) late[index_of(other)] = false;
    for (int input : instance.inputs) {
      for (int writer : graph.tensors[index_of(input)].writers) late[index_of(writer)] = false;
    }
  }
  return late;
}

/// Which instances of other lanes, or of its own, decide about `instance` without its device being able to tell. `known`:
/// what its lane has waited for already.
std::vector<int> deciders(const Graph& graph, const Instance& instance, const DeviceSet& devices,
                          const std::vector<bool>& known) {
  std::vector<int> found;
  if (!instance.commits) return found;
  for (int other : instance.after) {
    const Instance& source = graph.instances[index_of(other)];
    if (!source.can_fail || known[index_of(other)] || !devices.device(source.lane).info().asynchronous) continue;
    if (source.lane != instance.lane || !guardable(graph, instance, devices)) found.push_back(other);
  }
  return found;
}

}  // namespace

bool guardable(const Graph& graph, const Instance& instance, const DeviceSet& devices) {
  if (instance.kind == Instance::launch) return !instance.executable || instance.executable->guardable();
  const auto space = [&](int lane) { return devices.device(lane).memory_space(); };
  const auto within = [&](int tensor) {
    return space(graph.tensors[index_of(graph.root(tensor).tensor)].lane) == space(instance.lane);
  };
  return instance.kind == Instance::copy && within(instance.inputs[0]) && within(instance.outputs[0]);
}

std::vector<std::vector<int32_t>> schedule(Graph& graph, const BindContext& context) {
  const DeviceSet& devices = context.devices;
  graph.lane_order.assign(index_of(devices.lanes()), {});
  std::vector<std::vector<int32_t>> clocks(graph.instances.size());
  std::vector<int> writers;
  std::vector<std::vector<bool>> decided(index_of(devices.lanes()), std::vector<bool>(graph.instances.size(), false));
  std::vector<size_t> order(graph.instances.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const std::vector<bool> late = only_give(graph, devices);
  // What a device has brought to the host's memory is there only when somebody has waited for that device itself: that another
  // device's work came after it, on the devices, tells the host nothing.
  const auto works_alone = [&](int l) { return devices.device(l).info().asynchronous; };
  const auto tells = [&](int source, int lane, int of) {
    return of == source || works_alone(lane) || !works_alone(source) || !works_alone(of);
  };
  // Whoever is shown one operation after another sees values in the instances' order, so that is each lane's order then.
  const auto turn = [&](size_t i) { return context.observe ? 1 : graph.instances[i].early ? 0 : late[i] ? 2 : 1; };
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return turn(a) < turn(b); });
  for (size_t i : order) {
    Instance& instance = graph.instances[i];
    if (instance.elided) continue;
    auto& lane = graph.lane_order[index_of(instance.lane)];
    std::vector<int32_t> clock(index_of(devices.lanes()), 0);
    if (!lane.empty()) clock = clocks[index_of(lane.back())];
    instance.position = static_cast<int>(lane.size());
    clock[index_of(instance.lane)] = instance.position;

    // A wait for these says more than that they are done.
    for (int other : deciders(graph, instance, devices, decided[index_of(instance.lane)])) {
      Instance& source = graph.instances[index_of(other)];
      instance.waits.push_back({source.lane, other, true});
      source.signals = true;
      decided[index_of(instance.lane)][index_of(other)] = true;
      if (source.lane != instance.lane)
        clock[index_of(source.lane)] = std::max(clock[index_of(source.lane)], source.position + 1);
    }
    writers.clear();
    for (int input : instance.inputs) collect_writers(graph, input, writers);
    for (int other : instance.after) {
      if (!graph.instances[index_of(other)].elided) writers.push_back(other);
    }
    std::sort(writers.begin(), writers.end(), std::greater<>());  // a later wait often implies the earlier ones
    for (int writer : writers) {
      Instance& source = graph.instances[index_of(writer)];
      int32_t& known = clock[index_of(source.lane)];
      if (source.lane == instance.lane || known > source.position) continue;
      instance.waits.push_back({source.lane, writer, false});
      source.signals = true;
      known = source.position + 1;
      const auto& theirs = clocks[index_of(writer)];
      for (size_t l = 0; l < clock.size(); ++l) {
        if (tells(source.lane, instance.lane, static_cast<int>(l))) clock[l] = std::max(clock[l], theirs[l]);
      }
    }
    lane.push_back(static_cast<int>(i));
    clocks[i] = std::move(clock);
  }
  return clocks;
}

}  // namespace sheaf
