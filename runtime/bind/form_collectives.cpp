// Puts into buckets what a step sends between distinct devices: the parameters that it replicates, and the gradients that
// return to the device that adds them. A bucket is one operation of all devices, placed where its tensors are ready, or first
// needed.
#include "runtime/bind/buckets.h"
#include "runtime/bind/exchanges.h"
#include "runtime/bind/operation_info.h"
#include "runtime/bind/order.h"
#include "runtime/bind/rewrites.h"

#include <algorithm>
#include <map>

namespace sheaf {
namespace {

class CollectiveForming {
 public:
  CollectiveForming(BoundProgram& program, const BindContext& context)
      : program_(program), context_(context), standing_(stand_alone(program)) {}

  Result<void> run() {
    for (const auto& [kinship, exchanges] : find_exchanges(program_, context_)) {
      std::vector<size_t> sizes;
      for (const Exchange& exchange : exchanges) sizes.push_back(near(std::get<0>(kinship), exchange).bytes);
      for (const std::vector<size_t>& bucket : assign_buckets(sizes)) {
        std::vector<const Exchange*> parts;
        for (size_t i : bucket) parts.push_back(&exchanges[i]);
        if (choose(parts)) {
          if (auto ok = add(kinship, parts); !ok) return ok;
          continue;
        }
        // One of them needs what another brings: they go separately, and as copies if even that would be circular.
        for (const Exchange* part : parts) {
          if (!choose({part})) continue;
          if (auto ok = add(kinship, {part}); !ok) return ok;
        }
      }
    }
    if (groups_.empty()) return {};
    auto instead = stand_alone(program_).instead;
    for (const auto& [old, now] : instead_) instead[old] = now;
    return rearrange(program_, groups_, instead);
  }

 private:
  /// As in rearrange(); tensors that are there from the start precede everything.
  static int64_t time_of(InstanceId i) { return 2 * int64_t{i.number()}; }

  const Instance& instance(InstanceId i) const { return program_.instances[i]; }
  const Tensor& tensor(TensorId t) const { return program_.tensors[t]; }

  /// Treats the instances of `parts` as one from here on, if that leaves an order in which all can run.
  bool choose(const std::vector<const Exchange*>& parts) {
    Standing standing = standing_;
    const InstanceId leader = parts[0]->copies[0];
    for (const Exchange* part : parts) {
      for (InstanceId copy : part->copies) standing.leaders[copy] = leader;
      if (part->sum) standing.leaders[part->sum] = leader;
    }
    if (!find_order(program_, standing, IdVector<InstanceId, int64_t>(standing.leaders.size(), 0))) return false;
    standing_ = std::move(standing);
    return true;
  }

  const TensorSpec& near(CollectiveRequest::Kind kind, const Exchange& exchange) const {
    return tensor(near_end(program_, kind, exchange.copies[0])).spec;
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
    for (LaneId lane : lanes) members.push_back(&context_.devices.device(lane));
    auto prepared = members[0]->prepare_collective(request, members);
    if (!prepared) return prepared.error().note("for the " + to_string(op_of(kind)) + " of the " + request.what);
    if (prepared->empty()) return {};
    if (prepared->size() != lanes.size()) return Error("an operation among devices was prepared for another number of them");
    InstanceGroup group;
    group.time = kind == CollectiveRequest::broadcast ? time_of(parts[0]->at) - 1 : time_of(parts.back()->at) + 1;
    for (size_t m = 0; m < lanes.size(); ++m) {
      Prepared& own = (*prepared)[m];
      Instance member;
      member.step = instance(parts[0]->copies[0]).step;
      member.lane = lanes[m];
      member.entry = context_.devices.entry_of_lane(lanes[m]);
      Instance::Collective work;
      work.executable = std::move(own.executable);
      work.scratch_bytes = own.scratch_bytes;
      work.can_fail = own.can_fail;
      work.implementation = std::move(own.implementation);
      work.reason = request.what + (own.reason.empty() ? "" : "; " + own.reason);
      work.kind = kind;
      for (const Exchange* part : parts) work.steps.push_back(instance(part->copies[0]).step);
      member.work = std::move(work);
      add_operands(member, kind, m, parts);
      group.members.push_back(program_.instances.add(std::move(member)));
    }
    for (const Exchange* part : parts) replace(kind, *part, group.members);
    groups_.push_back(std::move(group));
    return {};
  }

  void add_operands(Instance& member, CollectiveRequest::Kind kind, size_t rank,
                    const std::vector<const Exchange*>& parts) const {
    if (rank > 0) {
      auto& operands = kind == CollectiveRequest::broadcast ? member.outputs : member.inputs;
      for (const Exchange* part : parts) operands.push_back(far_end(program_, kind, part->copies[rank - 1]));
    } else if (kind == CollectiveRequest::gather) {
      for (size_t other = 0; other < parts[0]->copies.size(); ++other) {
        for (const Exchange* part : parts) member.outputs.push_back(near_end(program_, kind, part->copies[other]));
      }
    } else {
      for (const Exchange* part : parts) {
        member.inputs.push_back(kind == CollectiveRequest::reduce ? own_part(program_, instance(part->sum), part->copies)
                                                                  : near_end(program_, kind, part->copies[0]));
      }
    }
  }

  /// The instances whose work `members` do.
  void replace(CollectiveRequest::Kind kind, const Exchange& part, const std::vector<InstanceId>& members) {
    for (size_t c = 0; c < part.copies.size(); ++c) {
      instead_[part.copies[c]] = kind == CollectiveRequest::broadcast ? members[c + 1] : members[0];
    }
    if (kind != CollectiveRequest::reduce) return;
    const Instance& sum = instance(part.sum);
    program_.tensors[sum.outputs[0]].place = Tensor::View{own_part(program_, sum, part.copies)};
    instead_[part.sum] = members[0];
  }

  BoundProgram& program_;
  const BindContext& context_;
  std::vector<InstanceGroup> groups_;
  std::map<InstanceId, InstanceId> instead_;
  Standing standing_;  ///< of the instances that existed at first
};

}  // namespace

Result<void> form_collectives(BoundProgram& program, const BindContext& context) {
  return CollectiveForming(program, context).run();
}

}  // namespace sheaf
