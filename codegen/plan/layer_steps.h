// The logical program: one step per layer, before anything is fused. What dump shows.
#pragma once

#include "codegen/plan/program_builder.h"

namespace sheaf::codegen {

class LayerSteps : public StepSource {
 public:
  Result<void> add_steps(ProgramBuilder& program, mlir::Operation& op, const Place& place) override;
};

/// The names of an op's operands (docs/steps.md), one per operand present.
std::vector<std::string> operand_roles(mlir::Operation& op);

/// An op's own attributes as JSON, without discardable ones and segment sizes.
Json attributes_of(mlir::Operation& op);

}  // namespace sheaf::codegen
