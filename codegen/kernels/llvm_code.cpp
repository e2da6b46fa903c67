#include "codegen/kernels/llvm_code.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <mutex>

namespace sheaf::kernels {
namespace {

/// Initialises only these two targets: all of them would add 10 ms to every start.
const llvm::Target* find_target(const char* triple) {
  static std::once_flag known;
  std::call_once(known, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string message;
  return llvm::TargetRegistry::lookupTarget(triple, message);
}

/// A line of fewer elements than a vector has. Its loop is best unrolled.
constexpr unsigned kShortLoop = 16;

/// Lines whose length isn't known may be short, too. Their loops take one vector at a time: with several of them LLVM would go element by
/// element along all that isn't a multiple. (Sums take several, which wait for one another less.)
void shape_lines(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::ScalarEvolution& counts = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
    const unsigned count = counts.getSmallConstantTripCount(loop);
    if (count > 0 && count < kShortLoop) llvm::addStringMetadataToLoop(loop, "llvm.loop.unroll.full", 1);
    const bool carries = std::distance(loop->getHeader()->phis().begin(), loop->getHeader()->phis().end()) > 1;
    if (count == 0 && loop->isInnermost() && !loop->isOutermost() && !carries)
      llvm::addStringMetadataToLoop(loop, "llvm.loop.interleave.count", 1);
  }
}

/// `vectors`: the target computes in vectors along a loop. There LLVM unrolls no other than short loops, since it would do so first: of an
/// inner loop of 32 elements nothing would be left to vectorise, and the loop around it would gather and scatter them one by one.
void optimize(llvm::Module& module, llvm::TargetMachine& machine, bool vectors) {
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();  // a loop must not become a call of memcpy or sqrtf: nothing is linked in
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  // Without the target machine the vectoriser knows no vector registers.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = !vectors;
  llvm::PassBuilder builder(&machine, tuning);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  if (vectors)
    for (llvm::Function& function : module)
      if (!function.isDeclaration()) shape_lines(function, functions);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

}  // namespace

Result<std::string> bitcode_of(mlir::ModuleOp module) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  mlir::registerNVVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  auto translated = mlir::translateModuleToLLVMIR(module, context, "kernels");
  if (!translated) return Error("the generated kernels could not be translated to LLVM IR");
  std::string bitcode;
  llvm::raw_string_ostream stream(bitcode);
  llvm::WriteBitcodeToFile(*translated, stream);
  return bitcode;
}

Result<std::string> generate_code(llvm::MemoryBufferRef bitcode, const CodeTarget& to) {
  std::string where = std::string("compiling kernels for ") + to.cpu + ": ";
  const llvm::Target* target = find_target(to.triple);
  if (!target) return Error(where + "this LLVM was built without " + to.triple);
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(bitcode, context);
  if (!parsed) return Error(where + llvm::toString(parsed.takeError()));
  llvm::Module& module = **parsed;
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(to.triple, to.cpu, to.features, {}, llvm::Reloc::PIC_));
  module.setTargetTriple(to.triple);
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : module) {
    function.addFnAttr("target-cpu", to.cpu);
    if (*to.vector_width) function.addFnAttr("prefer-vector-width", to.vector_width);
  }
  optimize(module, *machine, *to.vector_width != 0);
  llvm::SmallVector<char, 0> code;
  llvm::raw_svector_ostream stream(code);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(machine->getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine->addPassesToEmitFile(passes, stream, nullptr, to.kind)) return Error(where + "LLVM cannot write the code");
  passes.run(module);
  return std::string(code.begin(), code.end());
}

}  // namespace sheaf::kernels
