// The values of the unpartitioned program.
#pragma once

#include "tools/verify/step_runner.h"

#include <map>
#include <optional>

namespace sheaf {

/// A value as the unpartitioned program has it; if each replica computes it from its own rows (layout `local`), the replicas'
/// values.
struct ReferenceValue {
  bool opaque = false;            ///< nothing to compare: a library's workspace
  std::vector<HostTensor> parts;  ///< the whole; or, `by_replica`, one for each
  bool by_replica = false;
  double tolerance = 0;  ///< how far an element may be off by rounding only, given equal inputs
};

class Reference {
 public:
  /// Runs `program` step by step on whole tensors: inputs, targets and settings by the name of their value; parameters,
  /// buffers and state by their own. A step inside a region runs once, on all rows, if its layouts say that the replicas'
  /// results are parts of that result; if a replica's result depends on its rows (batch statistics), it runs chunk by chunk.
  /// All arguments must outlive the reference. `fast`: the run compared with it may have fast numerics. Errors: a tensor that
  /// is missing; those of binding.
  static Result<Reference> compute(const StepRunner& runner, const Program& program, const Sizes& sizes,
                                   const std::map<std::string, HostTensor>& given, bool fast);

  const ReferenceValue& at(int value) const { return values_[static_cast<size_t>(value)]; }
  /// How the replicas' tensors follow from the value: as declared, or as implied by the movements that make and use it.
  ValueLayout layout(int value) const { return layouts_[static_cast<size_t>(value)]; }
  /// The part of replica `replica`; for a partial value nothing is known by replica.
  Result<std::optional<HostTensor>> expected(int value, int replica) const;
  /// The result of the step on replica `replica` only, from its parts of the step's inputs.
  Result<std::vector<HostTensor>> on_replica(int step, int replica) const;

 private:
  Reference(const StepRunner& runner, const Program& program, const Sizes& sizes, bool fast)
      : runner_(&runner), program_(&program), sizes_(&sizes), fast_(fast), values_(program.values.size()) {}
  Result<void> find_layouts();
  Result<void> add(int step);
  Result<void> add_movement(int step);
  Result<void> add_step(int step);
  Result<HostTensor> part(int value, int replica) const;
  /// Runs the step with the sizes of `replica` (or of the whole). `tolerances`, if not null, receives how far each output may
  /// be off.
  Result<std::vector<HostTensor>> run(int step, int replica, std::vector<double>* tolerances) const;
  /// The replicas' results as one value.
  Result<void> set_parts(int value, std::vector<HostTensor> parts);

  const StepRunner* runner_;
  const Program* program_;
  const Sizes* sizes_;
  bool fast_;
  std::vector<ReferenceValue> values_;
  std::vector<ValueLayout> layouts_;
};

}  // namespace sheaf
