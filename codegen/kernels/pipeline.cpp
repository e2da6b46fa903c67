#include "codegen/kernels/pipeline.h"

#include "codegen/kernels/passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

namespace sheaf::kernels {

void build_kernel_pipeline(mlir::OpPassManager& passes) {
  mlir::OpPassManager& function = passes.nest<mlir::func::FuncOp>();
  // Before expansion: the polynomials rely on exact evaluation order and get no flags.
  function.addPass(create_fast_math_pass());
  function.addPass(create_expand_math_pass());
  // Before lowering: bare pointers reject memrefs of unknown size.
  function.addPass(create_kernel_abi_pass());
  function.addPass(mlir::createConvertSCFToCFPass());
  // No canonicalisation in between: LLVM does the same later, and doesn't need the help.
  passes.addPass(create_kernel_lowering_pass());
  passes.addPass(create_kernel_entry_pass());
}

void build_gpu_kernel_pipeline(mlir::OpPassManager& passes) {
  mlir::OpPassManager& threads = passes.nest<mlir::func::FuncOp>();
  threads.addPass(create_fast_math_pass());
  threads.addPass(create_expand_math_pass());
  threads.addPass(create_kernel_abi_pass());
  threads.addPass(mlir::createConvertSCFToCFPass());
  passes.addPass(create_kernel_lowering_pass());
  passes.addPass(create_ptx_entry_pass());
}

void register_kernel_passes() {
  mlir::registerPass(create_fast_math_pass);
  mlir::registerPass(create_expand_math_pass);
  mlir::registerPass(create_kernel_abi_pass);
  mlir::registerPass(create_kernel_lowering_pass);
  mlir::registerPass(create_kernel_entry_pass);
  mlir::registerPass(create_gpu_schedule_pass);
  mlir::registerPass(create_ptx_entry_pass);
  mlir::PassPipelineRegistration<>("sheaf-kernels", "Lower kernels as `sheaf compile` does", build_kernel_pipeline);
  mlir::PassPipelineRegistration<>("sheaf-gpu-kernels", "Lower shared-out kernels as `sheaf compile` does for GPUs",
                                   build_gpu_kernel_pipeline);
}

}  // namespace sheaf::kernels
