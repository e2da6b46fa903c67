// sheaf-opt: runs any pass or pipeline on IR text, as mlir-opt does (crash reproducers, timing, IR printing).
#include "codegen/kernels/passes.h"
#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<sheaf::nn::NnDialect, sheaf::dist::DistDialect, mlir::func::FuncDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect,
                  mlir::LLVM::LLVMDialect>();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  sheaf::passes::register_all();
  sheaf::kernels::register_kernel_passes();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "sheaf's optimizer driver\n", registry));
}
