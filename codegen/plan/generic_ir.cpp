#include "codegen/plan/generic_ir.h"

#include "ir/Dist/Dist.h"
#include "ir/Nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace sheaf {

Result<std::string> generic_ir(const std::string& ir) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NnDialect, dist::DistDialect, func::FuncDialect>();
  std::string problem;
  ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    if (problem.empty()) problem = diagnostic.str();
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(ir, &context);
  if (!module) return Error("the plan's IR can't be read: " + problem);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().useLocalScope().printGenericOpForm());
  return text + "\n";
}

}  // namespace sheaf
