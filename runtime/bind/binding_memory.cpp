// Arenas of a binding: lifetimes on each lane's own clock, and what the binding says about itself.
#include "runtime/bind/arena.h"
#include "runtime/bind/binding.h"
#include "runtime/bind/graph.h"

#include <algorithm>
#include <limits>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// Times of lane L: its operation number p starts at 2p + 1 and is done at 2p + 2. What another lane does is known
/// only by what the two wait for: it begins after the last operation of L known to be done by then, and is over
/// (as seen at 2e, before operation e starts) once L has waited for it. Seen at the end of a run at the latest.
class LaneTime {
 public:
  LaneTime(const Graph& graph, const std::vector<std::vector<int32_t>>& clocks) : graph_(graph), clocks_(clocks) {}

  int64_t begin(int lane, const Instance& instance, size_t id) const {
    if (instance.lane == lane) return 2 * int64_t{instance.position} + 1;
    return 2 * int64_t{clocks_[id][index_of(lane)]};
  }

  int64_t end(int lane, const Instance& instance) const {
    if (instance.lane == lane) return 2 * int64_t{instance.position} + 2;
    const auto& order = graph_.lane_order[index_of(lane)];
    const auto past = std::partition_point(order.begin(), order.end(), [&](int other) {
      return clocks_[index_of(other)][index_of(instance.lane)] <= instance.position;
    });
    return 2 * (past - order.begin()) + 1;  // at 2e: not yet free for another lane that only knows e - 1
  }

 private:
  const Graph& graph_;
  const std::vector<std::vector<int32_t>>& clocks_;
};

std::string describe_tensor(const Tensor& tensor) {
  std::string text = tensor.name + " " + std::string(name_of(tensor.spec.dtype)) + " ";
  for (size_t i = 0; i < tensor.spec.dims.size(); ++i) text += (i ? "x" : "") + std::to_string(tensor.spec.dims[i]);
  return text + " " + (tensor.spec.plain() ? "plain" : tensor.spec.format->name());
}

}  // namespace

Result<Binding::Layout> Binding::plan_arenas(const Graph& graph, const std::vector<std::vector<int32_t>>& clocks) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  const LaneTime time(graph, clocks);
  Layout layout;
  layout.root_offsets.assign(graph.tensors.size(), 0);
  layout.scratch_offsets.assign(graph.instances.size(), 0);
  std::vector<ArenaBuffer> lifetimes(graph.tensors.size(), {0, kNever, 0});
  for (size_t i = 0; i < graph.instances.size(); ++i) {
    const Instance& instance = graph.instances[i];
    if (instance.elided || instance.kind == Instance::print) continue;
    for (const auto* operands : {&instance.inputs, &instance.outputs}) {
      for (int operand : *operands) {
        const int root = graph.root(operand).tensor;
        if (!graph.planned(root)) continue;
        const Tensor& tensor = graph.tensors[index_of(root)];
        ArenaBuffer& life = lifetimes[index_of(root)];
        life.bytes = tensor.spec.bytes;
        life.begin = std::min(life.begin, time.begin(tensor.lane, instance, i));
        life.end = std::max(life.end, time.end(tensor.lane, instance));
      }
    }
  }

  for (int lane = 0; lane < devices_->lanes(); ++lane) {
    ArenaProblem problem;
    std::vector<size_t*> offsets;
    for (size_t t = 0; t < graph.tensors.size(); ++t) {
      if (lifetimes[t].begin == kNever || graph.tensors[t].lane != lane) continue;
      problem.buffers.push_back(lifetimes[t]);
      offsets.push_back(&layout.root_offsets[t]);
    }
    for (int i : graph.lane_order[index_of(lane)]) {
      const Instance& instance = graph.instances[index_of(i)];
      if (instance.scratch_bytes == 0) continue;
      const int64_t begin = 2 * int64_t{instance.position} + 1;
      problem.buffers.push_back({instance.scratch_bytes, begin, begin + 1});
      offsets.push_back(&layout.scratch_offsets[index_of(i)]);
    }
    if (auto ok = problem.check(); !ok) return ok.error();
    const ArenaSolution solution = plan_arena(problem);
    if (auto ok = verify(problem, solution); !ok) return ok.error();
    for (size_t b = 0; b < offsets.size(); ++b) *offsets[b] = solution.offsets[b];
    Device& device = devices_->device(lane);
    auto memory = device.allocate(solution.bytes);
    if (!memory) return memory.error().note("needed as the arena of " + devices_->name(lane));
    arenas_.push_back({&device, *memory});
    info_.lanes.push_back({devices_->name(lane), solution.bytes, problem.lower_bound(),
                           graph.lane_order[index_of(lane)].size()});
  }
  return layout;
}

void Binding::describe(const Graph& graph) {
  info_.parameter_bytes = constants_->parameter_bytes();
  info_.derived_bytes = constants_->derived_bytes();
  for (const Instance& instance : graph.instances) {
    OperationInfo info;
    const bool of_step = instance.step >= 0;
    if (of_step) {
      const Step& step = program_->steps[index_of(instance.step)];
      info.op = step.op;
      info.kernel = step.kernel;
      info.layer = step.layer;
    }
    if (instance.kind == Instance::copy && !of_step) info.op = instance.commits ? "update" : "copy";
    if (graph.guard >= 0 && &instance == &graph.instances[index_of(graph.guard)]) info.op = "check_finite";
    if (instance.implementation.rfind("reorder", 0) == 0) info.op = "reorder";
    info.step = instance.step;
    info.replica = instance.replica;
    info.lane = devices_->name(instance.lane);
    info.implementation = instance.elided ? "in place" : instance.kind == Instance::copy ? "copy" : instance.implementation;
    for (int tensor : instance.inputs) info.inputs.push_back(describe_tensor(graph.tensors[index_of(tensor)]));
    for (int tensor : instance.outputs) info.outputs.push_back(describe_tensor(graph.tensors[index_of(tensor)]));
    info_.operations.push_back(std::move(info));
    operation_entries_.push_back(instance.entry);
  }
}

}  // namespace sheaf
