// Pass sheaf-ptx-entry: marks what can be launched on a GPU, and with which block size.
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

struct PtxEntryPass : PassWrapper<PtxEntryPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PtxEntryPass)

  StringRef getArgument() const final { return "sheaf-ptx-entry"; }
  StringRef getDescription() const final { return "Make lowered kernels entries of PTX"; }
  void getDependentDialects(DialectRegistry& registry) const final { registry.insert<NVVM::NVVMDialect>(); }

  void runOnOperation() final {
    OpBuilder builder(&getContext());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      auto block = function->getAttrOfType<IntegerAttr>(block_attribute);
      if (!block) continue;
      function->removeAttr(block_attribute);
      function->removeAttr(kernel_attribute);
      function->removeAttr(in_place_attribute);
      function->removeAttr(repeated_attribute);
      if (Attribute resident = function->removeAttr(resident_attribute))
        function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), resident);
      function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
      // The way a block's threads share out work is valid only for exactly this many.
      function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(),
                        builder.getDenseI32ArrayAttr({static_cast<int32_t>(block.getInt()), 1, 1}));
    }
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_ptx_entry_pass() { return std::make_unique<PtxEntryPass>(); }

}  // namespace sheaf::kernels
