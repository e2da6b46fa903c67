// What a step sends between distinct devices, in buckets: the parameters that it replicates, and the gradients that come
// back to the device that adds them. A bucket is one operation of all devices, put where its tensors are ready, or first
// needed.
#include "runtime/bind/buckets.h"
#include "runtime/bind/order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

/// A tensor of a step that goes to, or comes from, other devices.
struct Transfer {
  std::vector<int> copies;  ///< instances, by their distant lane
  int at = 0;               ///< instance: a broadcast's first use, or what makes the last part of a gather
  int sum = -1;             ///< the instance that adds what is gathered, where the devices could do that themselves
};

/// Transfers that could be one: what they are, their devices (the root's lane first), their dtype.
using Kinship = std::tuple<CollectiveRequest::Kind, std::vector<int>, DType>;

const char* name_of(CollectiveRequest::Kind kind) {
  return kind == CollectiveRequest::broadcast ? "broadcast" : kind == CollectiveRequest::gather ? "gather" : "sum";
}

class CollectiveForming {
 public:
  CollectiveForming(Graph& graph, const BindContext& context)
      : graph_(graph), context_(context), standing_(stand_alone(graph)) {
    const auto steps = context.program.steps.size();
    copies_.resize(steps);
    sums_.assign(steps, -1);
    readers_.assign(graph.tensors.size(), 0);
    for (size_t i = 0; i < graph.instances.size(); ++i) {
      const Instance& instance = graph.instances[i];
      for (int input : instance.inputs) ++readers_[index_of(graph.root(input).tensor)];
      if (instance.step < 0) continue;
      if (instance.kind == Instance::copy && whole(instance)) copies_[index_of(instance.step)].push_back(static_cast<int>(i));
      const bool sums = instance.kind == Instance::launch && context.program.steps[index_of(instance.step)].op == "reduce" &&
                        instance.inputs.size() > 1;
      if (sums) sums_[index_of(instance.step)] = static_cast<int>(i);
    }
    for (int output : graph.outputs) ++readers_[index_of(graph.root(output).tensor)];
    for (const Graph::Update& update : graph.updates) ++readers_[index_of(graph.root(update.value).tensor)];
  }

  Result<void> run() {
    std::map<Kinship, std::vector<Transfer>> kin;
    for (size_t s = 0; s < copies_.size(); ++s) find(s, kin);
    for (auto& [kinship, transfers] : kin) {
      std::stable_sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) { return a.at < b.at; });
      std::vector<size_t> sizes;
      for (const Transfer& transfer : transfers) sizes.push_back(near(std::get<0>(kinship), transfer).bytes);
      for (const std::vector<size_t>& bucket : assign_buckets(sizes)) {
        std::vector<const Transfer*> parts;
        for (size_t i : bucket) parts.push_back(&transfers[i]);
        if (choose(parts)) {
          if (auto ok = add(kinship, parts); !ok) return ok;
          continue;
        }
        // One of them needs what another brings: each by itself, and as copies where even that would go round in circles.
        for (const Transfer* part : parts) {
          if (!choose({part})) continue;
          if (auto ok = add(kinship, {part}); !ok) return ok;
        }
      }
    }
    if (groups_.empty()) return {};
    std::vector<int> instead = stand_alone(graph_).instead;
    for (const auto& [old, now] : instead_) instead[index_of(old)] = now;
    return rearrange(graph_, groups_, instead);
  }

 private:
  const Instance& instance(int i) const { return graph_.instances[index_of(i)]; }
  const Tensor& tensor(int t) const { return graph_.tensors[index_of(t)]; }

  bool whole(const Instance& copy) const {
    return copy.copy_shape.rows == 1 && copy.source_offset == 0 && copy.target_offset == 0 &&
           copy.copy_shape.row_bytes == tensor(copy.inputs[0]).spec.bytes && copy.copy_shape.row_bytes > 0 &&
           graph_.planned(copy.outputs[0]) && tensor(copy.outputs[0]).base < 0;
  }

  /// Takes the instances of `parts` as one from here on, if that leaves an order in which all can be done.
  bool choose(const std::vector<const Transfer*>& parts) {
    Standing standing = standing_;
    const int leader = parts[0]->copies[0];
    for (const Transfer* part : parts) {
      for (int copy : part->copies) standing.leaders[index_of(copy)] = leader;
      if (part->sum >= 0) standing.leaders[index_of(part->sum)] = leader;
    }
    if (!find_order(graph_, standing, std::vector<int64_t>(standing.leaders.size(), 0))) return false;
    standing_ = std::move(standing);
    return true;
  }

  /// The end of a copy at the root, and the other.
  int near_end(CollectiveRequest::Kind kind, int copy) const {
    return kind == CollectiveRequest::broadcast ? instance(copy).inputs[0] : instance(copy).outputs[0];
  }
  int far_end(CollectiveRequest::Kind kind, int copy) const {
    return kind == CollectiveRequest::broadcast ? instance(copy).outputs[0] : instance(copy).inputs[0];
  }
  const TensorSpec& near(CollectiveRequest::Kind kind, const Transfer& transfer) const {
    return tensor(near_end(kind, transfer.copies[0])).spec;
  }

  int ready(int of) const {
    const auto& writers = tensor(of).writers;
    return writers.empty() ? -1 : *std::max_element(writers.begin(), writers.end());
  }

  void find(size_t step, std::map<Kinship, std::vector<Transfer>>& kin) {
    const std::string& op = context_.program.steps[step].op;
    auto copies = copies_[step];
    if (copies.empty() || (op != "replicate" && op != "reduce")) return;
    auto kind = op == "replicate" ? CollectiveRequest::broadcast : CollectiveRequest::gather;
    const auto lane = [&](int copy) { return tensor(far_end(kind, copy)).lane; };
    std::sort(copies.begin(), copies.end(), [&](int a, int b) { return lane(a) < lane(b); });
    Transfer transfer{copies, *std::min_element(copies.begin(), copies.end()), -1};
    std::vector<int> lanes = {tensor(near_end(kind, copies[0])).lane};
    for (int copy : copies) {
      lanes.push_back(lane(copy));
      if (kind == CollectiveRequest::broadcast && (ready(instance(copy).inputs[0]) >= 0 || instance(copy).inputs != instance(copies[0]).inputs)) return;
    }
    if (!distinct(lanes)) return;
    if (kind == CollectiveRequest::gather) {
      transfer.at = -1;
      for (int copy : copies) transfer.at = std::max(transfer.at, ready(instance(copy).inputs[0]));
      if (!context_.deterministic && sums_in_place(step, copies)) {
        kind = CollectiveRequest::reduce;
        transfer.sum = sums_[step];
      }
    }
    kin[{kind, lanes, near(kind, transfer).dtype}].push_back(std::move(transfer));
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
    const int own = own_part(sum, copies), result = sum.outputs[0];
    return graph_.covers_planned_root(own) && readers_[index_of(graph_.root(own).tensor)] == 1 && tensor(result).base < 0 &&
           tensor(own).spec.dtype == tensor(result).spec.dtype && same_format(tensor(own).spec, tensor(result).spec);
  }

  int own_part(const Instance& sum, const std::vector<int>& copies) const {
    for (int input : sum.inputs) {
      if (std::none_of(copies.begin(), copies.end(), [&](int copy) { return instance(copy).outputs[0] == input; })) return input;
    }
    return -1;
  }

  Result<void> add(const Kinship& kinship, const std::vector<const Transfer*>& parts) {
    const auto& [kind, lanes, dtype] = kinship;
    CollectiveRequest request;
    request.kind = kind;
    request.dtype = dtype;
    for (const Transfer* part : parts) request.parts.push_back(near(kind, *part).bytes);
    request.what = (kind == CollectiveRequest::broadcast ? "" : "gradients of ") + std::to_string(parts.size()) +
                   (parts.size() == 1 ? " parameter" : " parameters");
    std::vector<Device*> members;
    for (int lane : lanes) members.push_back(&context_.devices.device(lane));
    auto prepared = members[0]->prepare_collective(request, members);
    if (!prepared) return prepared.error().note("for the " + std::string(name_of(kind)) + " of the " + request.what);
    if (prepared->empty()) return {};
    if (prepared->size() != lanes.size()) return Error("an operation among devices was prepared for another number of them");
    InstanceGroup group;
    group.time = kind == CollectiveRequest::broadcast ? 2 * int64_t{parts[0]->at} - 1 : 2 * int64_t{parts.back()->at} + 1;
    for (size_t m = 0; m < lanes.size(); ++m) {
      Prepared& own = (*prepared)[m];
      Instance member;
      member.step = instance(parts[0]->copies[0]).step;
      for (const Transfer* part : parts) member.steps.push_back(instance(part->copies[0]).step);
      member.op = name_of(kind);
      member.lane = lanes[m];
      member.entry = lanes[m] - 1;
      member.executable = std::move(own.executable);
      member.scratch_bytes = own.scratch_bytes;
      member.can_fail = own.can_fail;
      member.implementation = std::move(own.implementation);
      member.reason = request.what + (own.reason.empty() ? "" : "; " + own.reason);
      add_operands(member, kind, m, parts);
      group.members.push_back(static_cast<int>(graph_.instances.size()));
      graph_.instances.push_back(std::move(member));
    }
    for (const Transfer* part : parts) replace(kind, *part, group.members);
    groups_.push_back(std::move(group));
    return {};
  }

  void add_operands(Instance& member, CollectiveRequest::Kind kind, size_t rank, const std::vector<const Transfer*>& parts) const {
    if (rank > 0) {
      auto& operands = kind == CollectiveRequest::broadcast ? member.outputs : member.inputs;
      for (const Transfer* part : parts) operands.push_back(far_end(kind, part->copies[rank - 1]));
    } else if (kind == CollectiveRequest::gather) {
      for (size_t other = 0; other < parts[0]->copies.size(); ++other) {
        for (const Transfer* part : parts) member.outputs.push_back(near_end(kind, part->copies[other]));
      }
    } else {
      for (const Transfer* part : parts) {
        member.inputs.push_back(kind == CollectiveRequest::reduce ? own_part(instance(part->sum), part->copies)
                                                                  : near_end(kind, part->copies[0]));
      }
    }
  }

  /// The instances that `members` do the work of.
  void replace(CollectiveRequest::Kind kind, const Transfer& part, const std::vector<int>& members) {
    for (size_t c = 0; c < part.copies.size(); ++c) {
      instead_[part.copies[c]] = kind == CollectiveRequest::broadcast ? members[c + 1] : members[0];
    }
    if (kind != CollectiveRequest::reduce) return;
    const Instance& sum = instance(part.sum);
    graph_.tensors[index_of(sum.outputs[0])].base = own_part(sum, part.copies);
    instead_[part.sum] = members[0];
  }

  Graph& graph_;
  const BindContext& context_;
  std::vector<std::vector<int>> copies_;  ///< by step: those of whole tensors to planned memory
  std::vector<int> sums_;                 ///< by step
  std::vector<int> readers_;              ///< by root: how many operands are in it
  std::vector<InstanceGroup> groups_;
  std::map<int, int> instead_;
  Standing standing_;                     ///< of the instances that were there at first
};

}  // namespace

Result<void> form_collectives(Graph& graph, const BindContext& context) { return CollectiveForming(graph, context).run(); }

Result<void> check_collectives(const Graph& graph) {
  for (const auto& lane : graph.lane_order) {
    int last = -1;
    for (int i : lane) {
      const int collective = graph.instances[index_of(i)].collective;
      if (collective < 0) continue;
      if (collective <= last) return Error("operations among devices stand in different orders on their lanes: a bug of sheaf's binding");
      last = collective;
    }
  }
  return {};
}

}  // namespace sheaf
