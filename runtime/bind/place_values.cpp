#include "runtime/bind/graph.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// A gathered part that nothing else had a place for yet is made in its slice of the whole, and the copy is left out.
void place_gathered_parts(Graph& graph) {
  for (Instance& instance : graph.instances) {
    if (!instance.placeable) continue;
    const int part = instance.inputs[0], whole = instance.outputs[0];
    const int root = graph.root(part).tensor;
    if (!graph.covers_planned_root(part) || root == graph.root(whole).tensor) continue;
    graph.tensors[index_of(root)].base = whole;
    graph.tensors[index_of(root)].delta = instance.target_offset;
    instance.elided = true;
  }
}

/// A program output that has planned host memory to itself lies in the caller's buffer; others are copied there.
void place_outputs(Graph& graph, const BindContext& context) {
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const int value = graph.outputs[i];
    const int root = graph.root(value).tensor;
    const int lane = graph.tensors[index_of(root)].lane;
    const bool on_host = context.devices.device(lane).memory_space() == context.devices.host().memory_space();
    if (graph.covers_planned_root(value) && on_host) {
      graph.tensors[index_of(root)].output = static_cast<int>(i);
      continue;
    }
    Tensor home;
    home.spec = graph.tensors[index_of(value)].spec;
    home.name = graph.tensors[index_of(value)].name;
    home.output = static_cast<int>(i);
    home.writers = {static_cast<int>(graph.instances.size())};
    graph.outputs[i] = static_cast<int>(graph.tensors.size());
    Instance copy;
    copy.kind = Instance::copy;
    // A constant or the caller's input is the host's to copy; else the lane that made it, which need not wait.
    const bool made = !graph.tensors[index_of(value)].writers.empty();
    copy.lane = made || !on_host ? graph.tensors[index_of(value)].lane : 0;
    copy.inputs = {value};
    copy.outputs = {graph.outputs[i]};
    copy.copy_shape = {home.spec.bytes, 1, 0, 0};
    graph.tensors.push_back(std::move(home));
    graph.instances.push_back(std::move(copy));
  }
}

/// When and where the memory of a root is touched.
struct Touches {
  int last = -1;         ///< instance
  int lane = -1;         ///< -1: none yet
  bool several = false;  ///< more than one lane

  void add(int instance, int from_lane) {
    last = std::max(last, instance);
    several |= lane >= 0 && lane != from_lane;
    lane = from_lane;
  }
  void merge(const Touches& other) {
    if (other.lane < 0) return;
    several |= other.several;
    add(other.last, other.lane);
  }
};

/// Outputs over inputs that die there. The input must be all of its memory, and only this lane may use it: another
/// lane might still be reading.
void place_over_inputs(Graph& graph) {
  std::vector<Touches> touches(graph.tensors.size());
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    const Instance& instance = graph.instances[i];
    if (instance.elided || instance.kind == Instance::print) continue;
    for (const auto* operands : {&instance.inputs, &instance.outputs}) {
      for (int tensor : *operands) touches[index_of(graph.root(tensor).tensor)].add(static_cast<int>(i), instance.lane);
    }
  }
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    const Instance& instance = graph.instances[i];
    for (const auto& [from, to] : instance.in_place) {
      if (from < 0 || to < 0 || from >= static_cast<int>(instance.inputs.size()) ||
          to >= static_cast<int>(instance.outputs.size())) {
        continue;
      }
      const int input = instance.inputs[index_of(from)], output = instance.outputs[index_of(to)];
      const int dying = graph.root(input).tensor;
      Touches& seen = touches[index_of(dying)];
      if (!graph.covers_planned_root(input) || seen.last != static_cast<int>(i) || seen.several) continue;
      const auto uses = std::count_if(instance.inputs.begin(), instance.inputs.end(),
                                      [&](int other) { return graph.root(other).tensor == dying; });
      const int target = graph.root(output).tensor;
      // A variable keeps its old value until this instance: no input can be made there.
      if (uses != 1 || target == dying || graph.tensors[index_of(target)].node >= 0) continue;
      Tensor& made = graph.tensors[index_of(output)];
      Tensor& source = graph.tensors[index_of(dying)];
      if (made.base < 0 && graph.planned(output) && made.spec.bytes <= source.spec.bytes) {
        made.base = dying;
        made.delta = 0;
        seen.merge(touches[index_of(output)]);
      } else if (source.spec.bytes <= made.spec.bytes) {
        // The output has its place already (a slice of a gather, the caller's buffer): the input is made there.
        source.base = output;
        source.delta = 0;
        touches[index_of(target)].merge(seen);
      }
    }
  }
}

}  // namespace

void place_values(Graph& graph, const BindContext& context) {
  place_gathered_parts(graph);
  place_outputs(graph, context);
  place_updates(graph, context);
  place_over_inputs(graph);
}

}  // namespace sheaf
