// Operations: a step on one replica, as its device prepares it.
#pragma once

#include "runtime/bind/expand/formats.h"
#include "runtime/bind/join_convolutions.h"
#include "runtime/bind/narrow_reads.h"

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
  /// it wants. `id`: the step it serves.
  Result<Prepared> prepare(const Step& step, std::vector<TensorId>& inputs, const std::vector<TensorSpec>& outputs, StepId id,
                           const Spot& spot);

 private:
  /// A step with concrete sizes: one of the program's, or a fused one.
  struct Sized {
    const Step& step;
    StepId id;  ///< the program's step that it is, or is fused from
    std::vector<TensorId> inputs;
    std::vector<TensorSpec> input_specs, output_specs;
    std::unique_ptr<bool[]> constant;  ///< by input
    std::vector<int64_t> extents;
    int64_t work = 0, gpu_work = 0;
  };

  /// Whether such a fused operation exists, and the device at that place has it.
  bool fuses(const NormFusion* fusion, const Spot& spot) const;
  /// How much of the batch norm behind a convolution the replica joins, which the device is asked: kept in joined_.
  Result<void> choose_joined(StepId convolution, const Spot& spot);
  /// What is done instead of `id`; see ConvNorms::joined().
  std::optional<Step> joined(StepId id, const Spot& spot) const;
  /// Whether the device has the operation, whatever the formats of its operands.
  bool can_prepare(const Step& step, StepId id, const Spot& spot) const;
  Result<void> call(const Step& step, StepId id, const Spot& spot);
  /// The step, or, where an operand was left in a narrower type, the same with the kernel that reads it so.
  const Step& as_made(StepId id, const Spot& spot);
  /// Whether nobody converts `value`, which was made in `dtype`: its readers take it as it is.
  bool stays_narrow(ValueId value, DType dtype) const;
  Result<Sized> sized(const Step& step, StepId id, const Spot& spot) const;
  std::string name_of(int operand) const;
  /// Of a value, or of what a batch norm's operations leave, as it is requested.
  Result<TensorSpec> spec(int operand, const Spot& spot) const;
  Result<void> size_kernel(Sized& sized, const Spot& spot) const;
  Result<Prepared> prepare(const Sized& sized, const Spot& spot) const;
  /// It depends only on weights: computed when they are set.
  Result<void> call_once(const Sized& sized, const Spot& spot);
  /// Its outputs are zeros, or nothing at all, without any work.
  void add_zeros(const Sized& sized, const Spot& spot);
  void define_zeros(ValueId value, const TensorSpec& spec, const Spot& spot);
  Result<void> add_call(Sized& sized, const Spot& spot);
  /// Converts outputs that were made in another dtype to the plan's.
  Result<void> convert_outputs(const Sized& sized, const std::vector<TensorId>& made, const Spot& spot);

  Builder& builder_;
  const Replicas& replicas_;
  Formats& formats_;
  VariableFormats& variables_;
  NarrowReads narrow_reads_;
  std::map<StepId, Step> narrowed_;                  ///< as_made()
  NormFusions fusions_;                              ///< empty if no device fuses any
  ConvNorms joins_;                                  ///< likewise
  std::map<std::pair<StepId, int>, Joined> joined_;  ///< by batch norm and replica
  std::map<std::pair<int, int>, TensorId> left_;     ///< by left_by() and replica
};

}  // namespace sheaf
