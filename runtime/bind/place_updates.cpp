// Updates: the new value of a variable is made over the old one where nobody needs that any more, else copied there
// at the end. Either way a run that fails leaves all variables as they were.
#include "runtime/bind/graph.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

class UpdatePlacement {
 public:
  UpdatePlacement(Graph& graph, const BindContext& context) : graph_(graph), context_(context) {}

  void run() {
    keep_old_values();
    find_touches();
    for (const Graph::Update& update : graph_.updates) {
      if (is_new_already(update) || graph_.tensors[index_of(update.variable)].spec.bytes == 0) continue;
      if (can_lie_over(update)) {
        make_over(update);
      } else {
        copies_.push_back(update);
      }
    }
    for (const Graph::Update& update : copies_) copy_at_end(update);
  }

 private:
  /// The value is the variable itself: it stays.
  bool is_new_already(const Graph::Update& update) const { return graph_.root(update.value).tensor == update.variable; }

  bool on_host(int lane) const {
    return context_.devices.device(lane).memory_space() == context_.devices.host().memory_space();
  }

  bool same_memory(int lane_a, int lane_b) const {
    return context_.devices.device(lane_a).memory_space() == context_.devices.device(lane_b).memory_space();
  }

  /// The host copies what was there from the start; else the lane that made it does, which need not wait. But the host's
  /// queue doesn't reach a device's memory.
  int copying_lane(const Tensor& from, const Tensor& to) const {
    if (on_host(from.lane) && !on_host(to.lane)) return to.lane;
    return from.writers.empty() && on_host(from.lane) ? 0 : from.lane;
  }

  int add_copy(int from, int to) {
    Instance copy;
    copy.kind = Instance::copy;
    copy.lane = copying_lane(graph_.tensors[index_of(from)], graph_.tensors[index_of(to)]);
    copy.inputs = {from};
    copy.outputs = {to};
    copy.copy_shape = {graph_.tensors[index_of(from)].spec.bytes, 1, 0, 0};
    graph_.instances.push_back(std::move(copy));
    return static_cast<int>(graph_.instances.size()) - 1;
  }

  /// A variable that takes the old value of another gets it by way of a copy: the other may change before.
  void keep_old_values() {
    for (Graph::Update& update : graph_.updates) {
      const Tensor source = graph_.tensors[index_of(update.value)];
      if (is_new_already(update) || !graph_.tensors[index_of(graph_.root(update.value).tensor)].variable) continue;
      Tensor kept;
      kept.spec = source.spec;
      kept.name = source.name;
      kept.lane = source.lane;
      const int id = static_cast<int>(graph_.tensors.size());
      graph_.tensors.push_back(std::move(kept));
      const int copy = add_copy(update.value, id);
      graph_.tensors[index_of(id)].writers = {copy};
      update.value = id;
    }
  }

  void find_touches() {
    readers_.resize(graph_.tensors.size());
    writers_.resize(graph_.tensors.size());
    for (size_t i = 0; i < graph_.instances.size(); ++i) {
      const Instance& instance = graph_.instances[i];
      if (instance.can_fail) may_fail_.push_back(static_cast<int>(i));
      if (instance.elided || instance.kind == Instance::print) continue;
      for (int input : instance.inputs) readers_[index_of(graph_.root(input).tensor)].push_back(static_cast<int>(i));
      for (int output : instance.outputs) writers_[index_of(graph_.root(output).tensor)].push_back(static_cast<int>(i));
    }
  }

  /// Everything that makes the value comes after all that reads the variable's old value and all that may fail.
  bool can_lie_over(const Graph::Update& update) const {
    const int root = graph_.root(update.value).tensor;
    if (!graph_.covers_planned_root(update.value)) return false;
    if (graph_.tensors[index_of(root)].spec.bytes != graph_.tensors[index_of(update.variable)].spec.bytes) return false;
    const int home = graph_.tensors[index_of(update.variable)].lane;
    if (!same_memory(graph_.tensors[index_of(root)].lane, home)) return false;
    const auto& readers = readers_[index_of(update.variable)];
    for (int writer : writers_[index_of(root)]) {
      const Instance& instance = graph_.instances[index_of(writer)];
      // What is early comes before all that may fail, whatever its place here.
      if (instance.early || !same_memory(instance.lane, home) || (!may_fail_.empty() && writer <= may_fail_.back()))
        return false;
      for (int reader : readers) {
        if (reader > writer || (reader == writer && !works_in_place(instance, update.variable, root))) return false;
      }
    }
    return true;
  }

  /// The instance reads the variable, whole and once, and may write `root` over it.
  bool works_in_place(const Instance& instance, int variable, int root) const {
    const auto touches = [&](const std::vector<int>& operands, int of) {
      return std::count_if(operands.begin(), operands.end(), [&](int tensor) { return graph_.root(tensor).tensor == of; });
    };
    if (touches(instance.inputs, variable) != 1 || touches(instance.outputs, root) != 1) return false;
    const auto covers = [&](int tensor, int of) {
      return graph_.root(tensor).tensor == of && graph_.root(tensor).offset == 0 &&
             graph_.tensors[index_of(tensor)].spec.bytes == graph_.tensors[index_of(of)].spec.bytes;
    };
    return std::any_of(instance.in_place.begin(), instance.in_place.end(), [&](const auto& pair) {
      return pair.first >= 0 && pair.first < static_cast<int>(instance.inputs.size()) && pair.second >= 0 &&
             pair.second < static_cast<int>(instance.outputs.size()) &&
             covers(instance.inputs[index_of(pair.first)], variable) && covers(instance.outputs[index_of(pair.second)], root);
    });
  }

  void make_over(const Graph::Update& update) {
    const int root = graph_.root(update.value).tensor;
    graph_.tensors[index_of(root)].base = update.variable;
    graph_.tensors[index_of(root)].delta = 0;
    for (int writer : writers_[index_of(root)]) commits(writer, update.variable);
  }

  void copy_at_end(const Graph::Update& update) { commits(add_copy(update.value, update.variable), update.variable); }

  /// Instance `writer` writes `variable`, once all is well and the old value has been read.
  void commits(int writer, int variable) {
    Instance& instance = graph_.instances[index_of(writer)];
    instance.commits = true;
    instance.after.insert(instance.after.end(), may_fail_.begin(), may_fail_.end());
    for (int reader : readers_[index_of(variable)]) {
      if (reader != writer) instance.after.push_back(reader);
    }
  }

  Graph& graph_;
  const BindContext& context_;
  std::vector<std::vector<int>> readers_, writers_;  ///< by root: instances, in order
  std::vector<int> may_fail_;                        ///< instances, in order
  std::vector<Graph::Update> copies_;
};

}  // namespace

void place_updates(Graph& graph, const BindContext& context) {
  if (!graph.updates.empty()) UpdatePlacement(graph, context).run();
}

}  // namespace sheaf
