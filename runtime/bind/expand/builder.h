// A bound program in the making.
#pragma once

#include "runtime/bind/expand/replicas.h"

#include <string>
#include <vector>

namespace sheaf {

class Builder {
 public:
  explicit Builder(const BindContext& context) : context_(context) { program.values.resize(context.program.values.size()); }

  BoundProgram program;

  const BindContext& context() const { return context_; }
  const DeviceSet& devices() const { return context_.devices; }
  VariableStore& store() const { return context_.store; }
  Device& device(LaneId lane) const { return context_.devices.device(lane); }
  const Step& step(StepId id) const { return context_.step(id); }
  const std::string& name(ValueId value) const { return context_.value(value).name; }

  const Tensor& tensor(TensorId id) const { return program.tensors[id]; }
  const TensorSpec& spec(TensorId id) const { return program.tensors[id].spec; }

  /// A root, in planned memory unless it names another place.
  TensorId add(TensorSpec spec, std::string name, LaneId lane, Tensor::Place place = Tensor::Planned{});
  /// Bytes of `of` from `offset` on, ready when `of` is.
  TensorId add_view(TensorId of, size_t offset, TensorSpec spec, std::string name, LaneId lane);
  /// An instance for `step`, which writes `outputs`.
  InstanceId add(Instance::Work work, StepId step, const Spot& spot, std::vector<TensorId> inputs,
                 std::vector<TensorId> outputs);

  /// Zeros in bytes `begin` to `end` of `of`, which nobody writes otherwise, unless it is in the host's memory: sums and messages read all of
  /// it.
  void fill(TensorId of, size_t begin, size_t end, StepId step, const Spot& spot);

  /// The tensor of a value on a replica; outside regions there is one for all.
  TensorId at(ValueId value, int replica) const;
  void define(ValueId value, int replica, TensorId tensor);

  /// Depends only on weights, and these don't change from run to run.
  bool is_constant(TensorId tensor) const;
  StoredRef stored_ref(TensorId tensor) const;

  bool same_memory(LaneId a, LaneId b) const { return device(a).memory_space() == device(b).memory_space(); }

 private:
  const BindContext& context_;
};

/// What `prepared` says about an instance.
Instance::Call call_of(Prepared prepared);

}  // namespace sheaf
