// Pass sheaf-kernel-lowering: converts every dialect of kernel bodies (after scf) to the LLVM dialect in one conversion (a pass
// for each would set up its patterns anew, which takes most of the time of a small module).
#include "codegen/kernels/passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

struct KernelLoweringPass : PassWrapper<KernelLoweringPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelLoweringPass)

  StringRef getArgument() const final { return "sheaf-kernel-lowering"; }
  StringRef getDescription() const final { return "Lower kernels to the LLVM dialect with bare pointers"; }
  void getDependentDialects(DialectRegistry& registry) const final {
    registry.insert<cf::ControlFlowDialect, LLVM::LLVMDialect, NVVM::NVVMDialect>();
  }

  void runOnOperation() final {
    LowerToLLVMOptions options(&getContext());
    options.useBarePtrCallConv = true;
    LLVMTypeConverter types(&getContext(), options);
    RewritePatternSet patterns(&getContext());
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateMathToLLVMConversionPatterns(types, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    populateFuncToLLVMConversionPatterns(types, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalOp<ModuleOp, UnrealizedConversionCastOp>();
    target.addLegalDialect<NVVM::NVVMDialect>();
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns)))) return signalPassFailure();
    OpPassManager casts(ModuleOp::getOperationName());  // between index and i64, which are now the same
    casts.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(casts, getOperation()))) signalPassFailure();
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_kernel_lowering_pass() { return std::make_unique<KernelLoweringPass>(); }

}  // namespace sheaf::kernels
