#include "runtime/bind/observation.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sheaf {
namespace {

/// The last operation that must be done before `tensor` can be read; none if it is there from the start. Copies left out
/// because their targets are made in place, and prints, which write nothing, don't count.
InstanceId completed_by(const BoundProgram& program, TensorId tensor) {
  InstanceId last;
  for (const InstanceId writer : program.tensors[tensor].writers) {
    const Instance& instance = program.instances[writer];
    if (instance.is<Instance::Print>()) continue;
    last = std::max(last, instance.left_out() ? completed_by(program, instance.inputs[0]) : writer);
  }
  return last;
}

BoundValue describe(const BoundProgram& program, ValueId value, size_t replica, TensorId tensor) {
  const Tensor& home = program.home(tensor);
  BoundValue described;
  described.value = value.number();
  described.replica = static_cast<int>(replica);
  described.operation = completed_by(program, tensor).number();
  described.lane = home.lane;
  described.spec = program.tensors[tensor].spec;
  described.constant = home.lies<Tensor::Given>() || (home.lies<Tensor::Stored>() && !home.variable());
  return described;
}

}  // namespace

Observation::Observation(const Addresses& addresses) {
  const BoundProgram& program = addresses.planned.program;
  std::vector<std::pair<BoundValue, TensorId>> found;
  for (ValueId value : program.values.ids()) {
    const auto& tensors = program.values[value];
    for (size_t replica = 0; replica < tensors.size(); ++replica) {
      if (!tensors[replica] || program.tensors[tensors[replica]].spec.bytes == 0) continue;
      found.emplace_back(describe(program, value, replica, tensors[replica]), tensors[replica]);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    const auto key = [](const BoundValue& value) { return std::tuple(value.operation, value.value, value.replica); };
    return key(a.first) < key(b.first);
  });
  values_.reserve(found.size());  // buffers' addresses depend on them
  for (auto& [value, tensor] : found) {
    values_.push_back(std::move(value));
    addresses.put(&values_.back().data, tensor);
  }
}

Result<bool> Observation::run(Executor& executor, const Observer& look) const {
  auto next = values_.begin();
  const auto show = [&](int operation) {
    const auto begin = next;
    while (next != values_.end() && next->operation <= operation) ++next;
    return look(operation, {begin, next});
  };
  if (!show(-1)) return true;
  bool failed = false;
  SHEAF_TRY(executor.run_one_by_one(true, [&](LaneId, const LaneOperation& operation) {
    failed = operation.can_fail && operation.executable->failed(0);
    return !failed && show(operation.instance.number());
  }));
  return !failed;
}

}  // namespace sheaf
