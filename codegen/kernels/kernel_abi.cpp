// Pass sheaf-kernel-abi: turns buffers into bare pointers.
#include "codegen/kernels/passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace sheaf::kernels {
namespace {

using namespace mlir;

struct KernelAbiPass : PassWrapper<KernelAbiPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelAbiPass)

  StringRef getArgument() const final { return "sheaf-kernel-abi"; }
  StringRef getDescription() const final {
    return "Turn a kernel's memref<?xT> arguments into memref<1xT>, which the bare-pointer convention "
           "accepts";
  }
  void getDependentDialects(DialectRegistry& registry) const final {
    registry.insert<arith::ArithDialect, memref::MemRefDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() final {
    func::FuncOp function = getOperation();
    if (!function->hasAttr(kernel_attribute)) return;
    auto in_place = function->getAttrOfType<DenseI64ArrayAttr>(in_place_attribute);
    Block& entry = function.front();
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(&entry);
    Location loc = function.getLoc();
    // A reinterpreted memref's size is never read (indices are the kernel's own affair), so any size will do.
    Value one;
    for (BlockArgument argument : entry.getArguments()) {
      auto type = dyn_cast<MemRefType>(argument.getType());
      if (!type || type.getRank() != 1 || !type.isDynamicDim(0)) continue;
      if (!one) one = builder.create<arith::ConstantIndexOp>(loc, 1);
      argument.setType(MemRefType::get({1}, type.getElementType()));
      auto cast = builder.create<memref::ReinterpretCastOp>(loc, type, argument, OpFoldResult(builder.getIndexAttr(0)),
                                                            ArrayRef<OpFoldResult>{one},
                                                            ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
      argument.replaceAllUsesExcept(cast, cast);
      // noalias saves run-time overlap checks. It would be wrong for an input that may be the output itself.
      int64_t position = argument.getArgNumber();
      if (!in_place || !llvm::is_contained(in_place.asArrayRef(), position))
        function.setArgAttr(position, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
    }
    function.setFunctionType(builder.getFunctionType(entry.getArgumentTypes(), {}));
  }
};

}  // namespace

std::unique_ptr<mlir::Pass> create_kernel_abi_pass() { return std::make_unique<KernelAbiPass>(); }

}  // namespace sheaf::kernels
