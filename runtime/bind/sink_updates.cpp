// On asynchronous lanes, what makes nothing but new values of variables is done at the end, alike next to alike: there it may
// write over the variables, and many small launches become few (Device::merge). A batch norm's running averages, a
// counter and the optimiser's updates are such.
#include "runtime/bind/order.h"

#include <algorithm>
#include <tuple>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

class Sinking {
 public:
  Sinking(const Graph& graph, const BindContext& context)
      : graph_(graph), context_(context), sinks_(graph.instances.size(), false) {}

  /// Those that sink, in the order in which they come then.
  std::vector<int> find() {
    find_readers();
    // Readers come after what they read, so one pass from the end sees each after all of its readers.
    for (int i = static_cast<int>(graph_.instances.size()) - 1; i >= 0; --i) sinks_[index_of(i)] = sinks(i);
    std::vector<int> found;
    std::vector<int> levels(sinks_.size(), 0);  // how many that sink come before it, one after another
    for (size_t i = 0; i < sinks_.size(); ++i) {
      if (!sinks_[i]) continue;
      for (int input : graph_.instances[i].inputs) {
        for (int writer : graph_.tensors[index_of(input)].writers) {
          if (sinks_[index_of(writer)]) levels[i] = std::max(levels[i], levels[index_of(writer)] + 1);
        }
      }
      found.push_back(static_cast<int>(i));
    }
    const auto key = [&](int i) { return std::tuple(levels[index_of(i)], kernel(i), i); };
    std::sort(found.begin(), found.end(), [&](int a, int b) { return key(a) < key(b); });
    return found;
  }

 private:
  const std::string& kernel(int i) const {
    static const std::string none;
    const int step = graph_.instances[index_of(i)].step;
    return step < 0 ? none : context_.program.steps[index_of(step)].kernel;
  }

  void find_readers() {
    updates_.assign(graph_.tensors.size(), false);
    readers_.resize(graph_.tensors.size());
    for (const Graph::Update& update : graph_.updates) updates_[index_of(graph_.root(update.value).tensor)] = true;
    for (int output : graph_.outputs) readers_[index_of(graph_.root(output).tensor)].push_back(-1);
    for (size_t i = 0; i < graph_.instances.size(); ++i) {
      for (int input : graph_.instances[i].inputs) readers_[index_of(graph_.root(input).tensor)].push_back(static_cast<int>(i));
      for (int before : graph_.instances[i].after) needed_.push_back(before);
    }
  }

  bool sinks(int i) const {
    const Instance& instance = graph_.instances[index_of(i)];
    if (instance.kind != Instance::launch || instance.can_fail || kernel(i).empty()) return false;
    if (!context_.devices.device(instance.lane).info().asynchronous) return false;
    if (std::find(needed_.begin(), needed_.end(), i) != needed_.end()) return false;
    return std::all_of(instance.outputs.begin(), instance.outputs.end(), [&](int output) {
      const size_t root = index_of(graph_.root(output).tensor);
      const auto& readers = readers_[root];
      return (updates_[root] || !readers.empty()) &&
             std::all_of(readers.begin(), readers.end(), [&](int reader) { return reader >= 0 && sinks_[index_of(reader)]; });
    });
  }

  const Graph& graph_;
  const BindContext& context_;
  std::vector<bool> sinks_;                ///< by instance
  std::vector<bool> updates_;              ///< by root: it is what a variable becomes
  std::vector<std::vector<int>> readers_;  ///< by root: instances; -1: the caller
  std::vector<int> needed_;                ///< instances that others wait for by name
};

}  // namespace

Result<void> sink_updates(Graph& graph, const BindContext& context) {
  if (graph.updates.empty()) return {};
  const std::vector<int> sinking = Sinking(graph, context).find();
  if (sinking.empty()) return {};
  std::vector<InstanceGroup> groups;
  int64_t time = 2 * static_cast<int64_t>(graph.instances.size());
  for (int i : sinking) groups.push_back({{i}, time++});
  return rearrange(graph, groups, stand_alone(graph).instead);
}

}  // namespace sheaf
