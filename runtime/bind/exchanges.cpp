#include "runtime/bind/exchanges.h"

#include "runtime/plan/op_list.h"

#include <algorithm>
#include <set>

namespace sheaf {
namespace {

class ExchangeSearch {
 public:
  ExchangeSearch(const BoundProgram& program, const BindContext& context) : program_(program), context_(context) {
    copies_.resize(context.program.steps.size());
    sums_.resize(context.program.steps.size());
    readers_.assign(program.tensors.size(), 0);
    for (InstanceId i : program.instances.ids()) {
      const Instance& instance = program.instances[i];
      for (TensorId input : instance.inputs) ++readers_[program.root(input).tensor];
      if (!instance.step) continue;
      const bool on_link = context.devices.messenger(instance.lane);  // it has its order there
      if (instance.is<Instance::Copy>() && !on_link && whole(instance)) copies_[instance.step].push_back(i);
      const bool sums =
          instance.is<Instance::LibraryCall>() && adds_up(context.step(instance.step).op) && instance.inputs.size() > 1;
      if (sums) sums_[instance.step] = i;
    }
    for (TensorId output : program.outputs) ++readers_[program.root(output).tensor];
    for (const BoundProgram::Update& update : program.updates) ++readers_[program.root(update.value).tensor];
  }

  std::map<Kinship, std::vector<Exchange>> run() const {
    std::map<Kinship, std::vector<Exchange>> kin;
    for (StepId step : copies_.ids()) find(step, kin);
    for (auto& [kinship, exchanges] : kin) {
      std::stable_sort(exchanges.begin(), exchanges.end(), [](const Exchange& a, const Exchange& b) { return a.at < b.at; });
    }
    return kin;
  }

 private:
  static bool adds_up(Op op) { return op == Op::reduce || op == Op::all_reduce; }

  const Instance& instance(InstanceId i) const { return program_.instances[i]; }
  const Tensor& tensor(TensorId t) const { return program_.tensors[t]; }

  bool whole(const Instance& instance) const {
    const auto& copy = *instance.is<Instance::Copy>();
    return copy.shape.rows == 1 && copy.source_offset == 0 && copy.target_offset == 0 &&
           copy.shape.row_bytes == tensor(instance.inputs[0]).spec.bytes && copy.shape.row_bytes > 0 &&
           program_.planned(instance.outputs[0]);
  }

  /// The last instance that makes a tensor; none if the tensor is there from the start.
  InstanceId ready(TensorId of) const {
    const auto& writers = tensor(of).writers;
    return writers.empty() ? InstanceId() : *std::max_element(writers.begin(), writers.end());
  }

  void find(StepId step, std::map<Kinship, std::vector<Exchange>>& kin) const {
    const Op op = context_.step(step).op;
    auto copies = copies_[step];
    // An all_reduce's copies of the sum are made in the step: they don't count as operands brought together.
    if (op == Op::all_reduce && !sums_[step]) return;
    if (op == Op::all_reduce)
      std::erase_if(copies, [&](InstanceId copy) { return instance(copy).inputs[0] == instance(sums_[step]).outputs[0]; });
    if (copies.empty() || (op != Op::replicate && !adds_up(op))) return;
    auto kind = op == Op::replicate ? CollectiveRequest::broadcast : CollectiveRequest::gather;
    const auto lane = [&](InstanceId copy) { return tensor(far_end(program_, kind, copy)).lane; };
    std::sort(copies.begin(), copies.end(), [&](InstanceId a, InstanceId b) { return lane(a) < lane(b); });
    Exchange exchange{copies, *std::min_element(copies.begin(), copies.end()), {}};
    std::vector<LaneId> lanes = {tensor(near_end(program_, kind, copies[0])).lane};
    for (InstanceId copy : copies) {
      lanes.push_back(lane(copy));
      if (kind == CollectiveRequest::broadcast &&
          (ready(instance(copy).inputs[0]) || instance(copy).inputs != instance(copies[0]).inputs))
        return;
    }
    if (!distinct(lanes)) return;
    if (kind == CollectiveRequest::gather) {
      exchange.at = {};
      for (InstanceId copy : copies) exchange.at = std::max(exchange.at, ready(instance(copy).inputs[0]));
      if (!context_.deterministic && sums_in_place(step, copies)) {
        kind = CollectiveRequest::reduce;
        exchange.sum = sums_[step];
      }
    }
    kin[{kind, lanes, tensor(near_end(program_, kind, copies[0])).spec.dtype}].push_back(std::move(exchange));
  }

  /// One device each, of the same kind, and all of them asynchronous. A device with two lanes takes no part: nothing orders
  /// what they launch, and operations among devices must come in one order on each device. Nor does one that brings the parts of
  /// several shards: those are copied.
  bool distinct(const std::vector<LaneId>& lanes) const {
    if (std::set<LaneId>(lanes.begin(), lanes.end()).size() < lanes.size()) return false;
    for (LaneId lane : lanes) {
      const Device& device = context_.devices.device(lane);
      if (!device.info().asynchronous || device.info().kind != context_.devices.device(lanes[0]).info().kind) return false;
      for (LaneId other : context_.devices.lanes()) {
        const bool link = context_.devices.messenger(other);  // no operation among devices is on one
        if (other != lane && !link && context_.devices.device(other).memory_space() == device.memory_space()) return false;
      }
    }
    return true;
  }

  /// A step's sum adds the root's own part, which nobody else reads, and the parts that `copies` bring.
  bool sums_in_place(StepId step, const std::vector<InstanceId>& copies) const {
    if (!sums_[step]) return false;
    const Instance& sum = instance(sums_[step]);
    if (sum.inputs.size() != copies.size() + 1 || sum.outputs.size() != 1) return false;
    for (InstanceId copy : copies) {
      if (std::find(sum.inputs.begin(), sum.inputs.end(), instance(copy).outputs[0]) == sum.inputs.end()) return false;
    }
    const TensorId own = own_part(program_, sum, copies), result = sum.outputs[0];
    return program_.covers_planned_root(own) && readers_[program_.root(own).tensor] == 1 && tensor(result).root() &&
           tensor(own).spec.dtype == tensor(result).spec.dtype && same_format(tensor(own).spec, tensor(result).spec);
  }

  const BoundProgram& program_;
  const BindContext& context_;
  IdVector<StepId, std::vector<InstanceId>> copies_;  ///< copies of whole tensors to planned memory
  IdVector<StepId, InstanceId> sums_;
  IdVector<TensorId, int> readers_;  ///< by root: how many operands are in it
};

}  // namespace

std::map<Kinship, std::vector<Exchange>> find_exchanges(const BoundProgram& program, const BindContext& context) {
  return ExchangeSearch(program, context).run();
}

TensorId near_end(const BoundProgram& program, CollectiveRequest::Kind kind, InstanceId copy) {
  const Instance& instance = program.instances[copy];
  return kind == CollectiveRequest::broadcast ? instance.inputs[0] : instance.outputs[0];
}

TensorId far_end(const BoundProgram& program, CollectiveRequest::Kind kind, InstanceId copy) {
  const Instance& instance = program.instances[copy];
  return kind == CollectiveRequest::broadcast ? instance.outputs[0] : instance.inputs[0];
}

TensorId own_part(const BoundProgram& program, const Instance& sum, const std::vector<InstanceId>& copies) {
  for (TensorId input : sum.inputs) {
    const auto brings = [&](InstanceId copy) { return program.instances[copy].outputs[0] == input; };
    if (std::none_of(copies.begin(), copies.end(), brings)) return input;
  }
  return {};
}

}  // namespace sheaf
