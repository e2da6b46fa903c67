#include "runtime/bind/exchanges.h"

#include "runtime/plan/op_list.h"

#include <algorithm>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

class ExchangeSearch {
 public:
  ExchangeSearch(const Graph& graph, const BindContext& context) : graph_(graph), context_(context) {
    const auto steps = context.program.steps.size();
    copies_.resize(steps);
    sums_.assign(steps, -1);
    readers_.assign(graph.tensors.size(), 0);
    for (size_t i = 0; i < graph.instances.size(); ++i) {
      const Instance& instance = graph.instances[i];
      for (int input : instance.inputs) ++readers_[index_of(graph.root(input).tensor)];
      if (instance.step < 0) continue;
      if (instance.kind == Instance::copy && whole(instance)) copies_[index_of(instance.step)].push_back(static_cast<int>(i));
      const bool sums = instance.kind == Instance::launch && context.program.steps[index_of(instance.step)].op == Op::reduce &&
                        instance.inputs.size() > 1;
      if (sums) sums_[index_of(instance.step)] = static_cast<int>(i);
    }
    for (int output : graph.outputs) ++readers_[index_of(graph.root(output).tensor)];
    for (const Graph::Update& update : graph.updates) ++readers_[index_of(graph.root(update.value).tensor)];
  }

  std::map<Kinship, std::vector<Exchange>> run() const {
    std::map<Kinship, std::vector<Exchange>> kin;
    for (size_t s = 0; s < copies_.size(); ++s) find(s, kin);
    for (auto& [kinship, exchanges] : kin) {
      std::stable_sort(exchanges.begin(), exchanges.end(), [](const Exchange& a, const Exchange& b) { return a.at < b.at; });
    }
    return kin;
  }

 private:
  const Instance& instance(int i) const { return graph_.instances[index_of(i)]; }
  const Tensor& tensor(int t) const { return graph_.tensors[index_of(t)]; }

  bool whole(const Instance& copy) const {
    return copy.copy_shape.rows == 1 && copy.source_offset == 0 && copy.target_offset == 0 &&
           copy.copy_shape.row_bytes == tensor(copy.inputs[0]).spec.bytes && copy.copy_shape.row_bytes > 0 &&
           graph_.planned(copy.outputs[0]) && tensor(copy.outputs[0]).base < 0;
  }

  int ready(int of) const {
    const auto& writers = tensor(of).writers;
    return writers.empty() ? -1 : *std::max_element(writers.begin(), writers.end());
  }

  void find(size_t step, std::map<Kinship, std::vector<Exchange>>& kin) const {
    const Op op = context_.program.steps[step].op;
    auto copies = copies_[step];
    if (copies.empty() || (op != Op::replicate && op != Op::reduce)) return;
    auto kind = op == Op::replicate ? CollectiveRequest::broadcast : CollectiveRequest::gather;
    const auto lane = [&](int copy) { return tensor(far_end(graph_, kind, copy)).lane; };
    std::sort(copies.begin(), copies.end(), [&](int a, int b) { return lane(a) < lane(b); });
    Exchange exchange{copies, *std::min_element(copies.begin(), copies.end()), -1};
    std::vector<int> lanes = {tensor(near_end(graph_, kind, copies[0])).lane};
    for (int copy : copies) {
      lanes.push_back(lane(copy));
      if (kind == CollectiveRequest::broadcast &&
          (ready(instance(copy).inputs[0]) >= 0 || instance(copy).inputs != instance(copies[0]).inputs))
        return;
    }
    if (!distinct(lanes)) return;
    if (kind == CollectiveRequest::gather) {
      exchange.at = -1;
      for (int copy : copies) exchange.at = std::max(exchange.at, ready(instance(copy).inputs[0]));
      if (!context_.deterministic && sums_in_place(step, copies)) {
        kind = CollectiveRequest::reduce;
        exchange.sum = sums_[step];
      }
    }
    kin[{kind, lanes, tensor(near_end(graph_, kind, copies[0])).spec.dtype}].push_back(std::move(exchange));
  }

  /// One device each, of the same kind, and all of them work by themselves. A device that has two lanes takes no part:
  /// nothing orders what they launch, and operations among devices must come in one order on each device.
  bool distinct(const std::vector<int>& lanes) const {
    for (int lane : lanes) {
      const Device& device = context_.devices.device(lane);
      if (!device.info().asynchronous || device.info().kind != context_.devices.device(lanes[0]).info().kind) return false;
      for (int other = 0; other < context_.devices.lanes(); ++other) {
        if (other != lane && context_.devices.device(other).memory_space() == device.memory_space()) return false;
      }
    }
    return true;
  }

  /// The sum of a step is of the root's own part, which nobody else reads, and of what comes by `copies`.
  bool sums_in_place(size_t step, const std::vector<int>& copies) const {
    if (sums_[step] < 0) return false;
    const Instance& sum = instance(sums_[step]);
    if (sum.inputs.size() != copies.size() + 1 || sum.outputs.size() != 1) return false;
    for (int copy : copies) {
      if (std::find(sum.inputs.begin(), sum.inputs.end(), instance(copy).outputs[0]) == sum.inputs.end()) return false;
    }
    const int own = own_part(graph_, sum, copies), result = sum.outputs[0];
    return graph_.covers_planned_root(own) && readers_[index_of(graph_.root(own).tensor)] == 1 && tensor(result).base < 0 &&
           tensor(own).spec.dtype == tensor(result).spec.dtype && same_format(tensor(own).spec, tensor(result).spec);
  }

  const Graph& graph_;
  const BindContext& context_;
  std::vector<std::vector<int>> copies_;  ///< by step: those of whole tensors to planned memory
  std::vector<int> sums_;                 ///< by step
  std::vector<int> readers_;              ///< by root: how many operands are in it
};

}  // namespace

std::map<Kinship, std::vector<Exchange>> find_exchanges(const Graph& graph, const BindContext& context) {
  return ExchangeSearch(graph, context).run();
}

int near_end(const Graph& graph, CollectiveRequest::Kind kind, int copy) {
  const Instance& instance = graph.instances[index_of(copy)];
  return kind == CollectiveRequest::broadcast ? instance.inputs[0] : instance.outputs[0];
}

int far_end(const Graph& graph, CollectiveRequest::Kind kind, int copy) {
  const Instance& instance = graph.instances[index_of(copy)];
  return kind == CollectiveRequest::broadcast ? instance.outputs[0] : instance.inputs[0];
}

int own_part(const Graph& graph, const Instance& sum, const std::vector<int>& copies) {
  for (int input : sum.inputs) {
    const auto brings = [&](int copy) { return graph.instances[index_of(copy)].outputs[0] == input; };
    if (std::none_of(copies.begin(), copies.end(), brings)) return input;
  }
  return -1;
}

}  // namespace sheaf
