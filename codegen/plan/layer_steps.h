// The logical program: one step per layer, before anything is fused. `dump` shows it.
#pragma once

#include "codegen/plan/program_builder.h"

namespace sheaf::codegen {

class LayerSteps : public StepSource {
 public:
  Result<void> add_steps(ProgramBuilder& program, mlir::Operation& op, const Place& place) override;
};

}  // namespace sheaf::codegen
