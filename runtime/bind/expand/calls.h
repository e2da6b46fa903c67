// Operations: a step on one replica, as its device prepares it.
#pragma once

#include "runtime/bind/expand/formats.h"
#include "runtime/bind/fuse_norms.h"

#include <map>
#include <utility>
#include <vector>

namespace sheaf {

class Calls {
 public:
  Calls(Builder& builder, const Replicas& replicas, Formats& formats, VariableFormats& variables);

  /// A library's operation or a generated kernel of the plan. Errors: its device can't prepare it.
  Result<void> call(StepId id, const Spot& spot);

  /// An operation that no plan has, on tensors in the memory of `spot`'s lane: prepares it and brings `inputs` into the formats
  /// that it wants. `id`: the step that it serves.
  Result<Prepared> prepare(const Step& step, std::vector<TensorId>& inputs, const std::vector<TensorSpec>& outputs, StepId id,
                           const Spot& spot);

 private:
  /// A step with concrete sizes: one of the program's, or a fused one.
  struct Sized {
    const Step& step;
    StepId id;    ///< the program's step that it is, or is fused from
    StepId norm;  ///< of a fused step: the batch norm whose mask it makes or takes
    std::vector<TensorId> inputs;
    std::vector<TensorSpec> input_specs, output_specs;
    std::unique_ptr<bool[]> constant;  ///< by input
    std::vector<int64_t> extents;
    int64_t work = 0, gpu_work = 0;
  };

  /// There is such a fused operation, and the device at that place has it.
  bool fuses(const NormFusion* fusion, const Spot& spot) const;
  Result<void> call(const Step& step, StepId id, const Spot& spot, StepId norm);
  Result<Sized> sized(const Step& step, StepId id, const Spot& spot, StepId norm) const;
  Result<void> size_kernel(Sized& sized, const Spot& spot) const;
  Result<Prepared> prepare(const Sized& sized, const Spot& spot) const;
  /// It depends only on weights: done when they are set.
  Result<void> call_once(const Sized& sized, const Spot& spot);
  /// Its outputs are zeros, or nothing at all, without any work.
  void add_zeros(const Sized& sized, const Spot& spot);
  void define_zeros(ValueId value, const TensorSpec& spec, const Spot& spot);
  Result<void> add_call(Sized& sized, const Spot& spot);
  /// Outputs that were made in another dtype than the plan's become what it says.
  Result<void> convert_outputs(const Sized& sized, const std::vector<TensorId>& made, const Spot& spot);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  VariableFormats& variables_;
  NormFusions fusions_;                               ///< empty if no device does any
  std::map<std::pair<StepId, int>, TensorId> masks_;  ///< of fused batch norms: by step and replica
};

}  // namespace sheaf
