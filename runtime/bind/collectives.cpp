// What a step sends between distinct devices, in buckets: the parameters that it replicates, and the gradients that come
// back to the device that adds them. A bucket is one operation of all devices, put where its tensors are ready, or first
// needed.
#include "runtime/bind/buckets.h"
#include "runtime/bind/exchanges.h"
#include "runtime/bind/order.h"
#include "runtime/plan/op_list.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

size_t index_of(int i) { return static_cast<size_t>(i); }

Op op_of(CollectiveRequest::Kind kind) {
  switch (kind) {
    case CollectiveRequest::broadcast: return Op::broadcast;
    case CollectiveRequest::gather: return Op::gather;
    case CollectiveRequest::reduce: return Op::sum;
  }
  return Op::sum;
}

class CollectiveForming {
 public:
  CollectiveForming(Graph& graph, const BindContext& context)
      : graph_(graph), context_(context), standing_(stand_alone(graph)) {}

  Result<void> run() {
    for (const auto& [kinship, exchanges] : find_exchanges(graph_, context_)) {
      std::vector<size_t> sizes;
      for (const Exchange& exchange : exchanges) sizes.push_back(near(std::get<0>(kinship), exchange).bytes);
      for (const std::vector<size_t>& bucket : assign_buckets(sizes)) {
        std::vector<const Exchange*> parts;
        for (size_t i : bucket) parts.push_back(&exchanges[i]);
        if (choose(parts)) {
          if (auto ok = add(kinship, parts); !ok) return ok;
          continue;
        }
        // One of them needs what another brings: each by itself, and as copies where even that would go round in circles.
        for (const Exchange* part : parts) {
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

  /// Takes the instances of `parts` as one from here on, if that leaves an order in which all can be done.
  bool choose(const std::vector<const Exchange*>& parts) {
    Standing standing = standing_;
    const int leader = parts[0]->copies[0];
    for (const Exchange* part : parts) {
      for (int copy : part->copies) standing.leaders[index_of(copy)] = leader;
      if (part->sum >= 0) standing.leaders[index_of(part->sum)] = leader;
    }
    if (!find_order(graph_, standing, std::vector<int64_t>(standing.leaders.size(), 0))) return false;
    standing_ = std::move(standing);
    return true;
  }

  const TensorSpec& near(CollectiveRequest::Kind kind, const Exchange& exchange) const {
    return tensor(near_end(graph_, kind, exchange.copies[0])).spec;
  }

  Result<void> add(const Kinship& kinship, const std::vector<const Exchange*>& parts) {
    const auto& [kind, lanes, dtype] = kinship;
    CollectiveRequest request;
    request.kind = kind;
    request.dtype = dtype;
    request.deadline = context_.deadline;
    for (const Exchange* part : parts) request.parts.push_back(near(kind, *part).bytes);
    request.what = (kind == CollectiveRequest::broadcast ? "" : "gradients of ") + std::to_string(parts.size()) +
                   (parts.size() == 1 ? " parameter" : " parameters");
    std::vector<Device*> members;
    for (int lane : lanes) members.push_back(&context_.devices.device(lane));
    auto prepared = members[0]->prepare_collective(request, members);
    if (!prepared) return prepared.error().note("for the " + to_string(op_of(kind)) + " of the " + request.what);
    if (prepared->empty()) return {};
    if (prepared->size() != lanes.size()) return Error("an operation among devices was prepared for another number of them");
    InstanceGroup group;
    group.time = kind == CollectiveRequest::broadcast ? 2 * int64_t{parts[0]->at} - 1 : 2 * int64_t{parts.back()->at} + 1;
    for (size_t m = 0; m < lanes.size(); ++m) {
      Prepared& own = (*prepared)[m];
      Instance member;
      member.step = instance(parts[0]->copies[0]).step;
      for (const Exchange* part : parts) member.steps.push_back(instance(part->copies[0]).step);
      member.op = op_of(kind);
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
    for (const Exchange* part : parts) replace(kind, *part, group.members);
    groups_.push_back(std::move(group));
    return {};
  }

  void add_operands(Instance& member, CollectiveRequest::Kind kind, size_t rank,
                    const std::vector<const Exchange*>& parts) const {
    if (rank > 0) {
      auto& operands = kind == CollectiveRequest::broadcast ? member.outputs : member.inputs;
      for (const Exchange* part : parts) operands.push_back(far_end(graph_, kind, part->copies[rank - 1]));
    } else if (kind == CollectiveRequest::gather) {
      for (size_t other = 0; other < parts[0]->copies.size(); ++other) {
        for (const Exchange* part : parts) member.outputs.push_back(near_end(graph_, kind, part->copies[other]));
      }
    } else {
      for (const Exchange* part : parts) {
        member.inputs.push_back(kind == CollectiveRequest::reduce ? own_part(graph_, instance(part->sum), part->copies)
                                                                  : near_end(graph_, kind, part->copies[0]));
      }
    }
  }

  /// The instances that `members` do the work of.
  void replace(CollectiveRequest::Kind kind, const Exchange& part, const std::vector<int>& members) {
    for (size_t c = 0; c < part.copies.size(); ++c) {
      instead_[part.copies[c]] = kind == CollectiveRequest::broadcast ? members[c + 1] : members[0];
    }
    if (kind != CollectiveRequest::reduce) return;
    const Instance& sum = instance(part.sum);
    graph_.tensors[index_of(sum.outputs[0])].base = own_part(graph_, sum, part.copies);
    instead_[part.sum] = members[0];
  }

  Graph& graph_;
  const BindContext& context_;
  std::vector<InstanceGroup> groups_;
  std::map<int, int> instead_;
  Standing standing_;  ///< of the instances that were there at first
};

}  // namespace

Result<void> form_collectives(Graph& graph, const BindContext& context) { return CollectiveForming(graph, context).run(); }

Result<void> check_collectives(const Graph& graph) {
  for (const auto& lane : graph.lane_order) {
    int last = -1;
    for (int i : lane) {
      const int collective = graph.instances[index_of(i)].collective;
      if (collective < 0) continue;
      if (collective <= last)
        return Error("operations among devices stand in different orders on their lanes: a bug of sheaf's binding");
      last = collective;
    }
  }
  return {};
}

}  // namespace sheaf
