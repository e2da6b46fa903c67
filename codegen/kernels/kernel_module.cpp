#include "codegen/kernels/kernel_module.h"

#include "codegen/kernels/arithmetic.h"
#include "codegen/kernels/builders.h"
#include "codegen/kernels/native_object.h"
#include "codegen/kernels/pipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

namespace sheaf::kernels {

using namespace mlir;

KernelModule::KernelModule(MLIRContext& context) : context_(context) {
  // Vector: the polynomial expansion asks for it even where all is scalar.
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                      math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  module_ = ModuleOp::create(UnknownLoc::get(&context));
}

template <typename Spec>
Result<KernelUse> KernelModule::add(const Spec& spec) {
  Emitter emitter(&context_);
  auto use = build(emitter, spec);
  if (!use) return use;
  return enter(emitter, *use, spec.name, spec.description, arithmetic_of(context_, spec));
}

template Result<KernelUse> KernelModule::add(const ElementwiseSpec&);
template Result<KernelUse> KernelModule::add(const SoftmaxSpec&);
template Result<KernelUse> KernelModule::add(const NormalizationSpec&);
template Result<KernelUse> KernelModule::add(const EmbeddingSpec&);
template Result<KernelUse> KernelModule::add(const CopySpec&);
template Result<KernelUse> KernelModule::add(const ConcatSpec&);
template Result<KernelUse> KernelModule::add(const MeanSpec&);
template Result<KernelUse> KernelModule::add(const LinearSpec&);
template Result<KernelUse> KernelModule::add(const PadSpec&);
template Result<KernelUse> KernelModule::add(const EmbeddingBackwardSpec&);
template Result<KernelUse> KernelModule::add(const InverseCountSpec&);
template Result<KernelUse> KernelModule::add(const ConstantSpec&);

namespace {

/// A valid, readable part of a symbol name.
std::string symbol_part(const std::string& name) {
  std::string result;
  for (char c : name.substr(0, 40)) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (result.empty() || std::isdigit(static_cast<unsigned char>(result[0]))) result.insert(0, "k");
  return result;
}

}  // namespace

Result<KernelUse> KernelModule::enter(Emitter& emitter, KernelUse use, const std::string& name,
                                      const std::string& description, std::vector<KernelArithmetic> arithmetic) {
  use.extents = emitter.extents();
  OwningOpRef<func::FuncOp> function(emitter.take());
  if (failed(verify(*function)))
    return Error(name + ": the generated kernel is not valid (a fault of the compiler)");
  // Extents stand in it as arguments, so kernels that differ only in which symbols they get are the same
  // text.
  std::string text;
  llvm::raw_string_ostream stream(text);
  function->print(stream, OpPrintingFlags().useLocalScope());
  auto [found, fresh] = by_text_.emplace(text, kernels_.size());
  if (fresh) {
    Kernel kernel;
    kernel.name = symbol_part(name) + "_" + std::to_string(kernels_.size());
    kernel.description = description.empty() ? name : description;
    kernel.extents = static_cast<int>(use.extents.size());
    kernel.elementwise = use.elementwise;
    kernel.arithmetic = std::move(arithmetic);
    function->setName(kernel.name);
    module_->push_back(function.release());
    kernels_.push_back(kernel);
  }
  use.name = kernels_[found->second].name;
  use.description = kernels_[found->second].description;
  return use;
}

std::string KernelModule::text() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  ModuleOp module = *module_;
  module.print(stream);
  return text;
}

Result<std::vector<std::pair<std::string, std::string>>> KernelModule::compile() const {
  if (kernels_.empty()) return std::vector<std::pair<std::string, std::string>>{};
  OwningOpRef<ModuleOp> lowered(cast<ModuleOp>(ModuleOp(*module_)->clone()));
  PassManager passes(&context_);
  // Verified once when added, and by LLVM at the end; between passes it would be a third of the time.
  passes.enableVerifier(false);
  build_kernel_pipeline(passes);
  std::string message;
  ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
    message += message.empty() ? diagnostic.str() : "; " + diagnostic.str();
    return success();
  });
  if (failed(passes.run(*lowered))) return Error("lowering of the generated kernels failed: " + message);
  auto objects = compile_native(*lowered);
  if (!objects && !message.empty()) objects.error().note(message);
  return objects;
}

}  // namespace sheaf::kernels
