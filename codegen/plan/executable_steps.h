// The executable program: library calls, generated kernels, views and prints.
#pragma once

#include "codegen/kernels/kernel_module.h"
#include "codegen/plan/program_builder.h"

namespace sheaf::codegen {

class ExecutableSteps : public StepSource {
 public:
  explicit ExecutableSteps(kernels::KernelModule& kernels) : kernels_(kernels) {}
  Result<void> add_steps(ProgramBuilder& program, mlir::Operation& op, const Place& place) override;

 private:
  Result<void> add_library_call(ProgramBuilder& program, mlir::Operation& op, const Place& place);
  Result<void> add_kernel(ProgramBuilder& program, mlir::Operation& op, const Place& place);
  /// A second kernel for a step that reads a gradient which libraries may round to the type of a layer's operands
  /// (attribute `narrow`).
  Result<void> add_narrow_kernel(const ProgramBuilder& program, mlir::Operation& op, const kernels::KernelUse& use,
                                 llvm::ArrayRef<mlir::Value> operands, Step& step);

  kernels::KernelModule& kernels_;
};

/// Whether a linear layer is so small that a library call costs more than a generated kernel's plain loops: its weight stays in
/// the first-level cache.
bool is_small_linear(mlir::Operation& op);

}  // namespace sheaf::codegen
