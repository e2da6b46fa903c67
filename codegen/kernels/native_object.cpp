#include "codegen/kernels/native_object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <system_error>
#include <thread>

namespace sheaf::kernels {
namespace {

constexpr const char* triple = "x86_64-unknown-linux-gnu";

struct Level {
  const char* name;
  const char* vector_width;
};
constexpr Level levels[] = {{"x86-64-v3", "256"}, {"x86-64-v4", "512"}};

/// Only the one target is initialised: all of them would cost 10 ms of every start.
const llvm::Target* x86_target() {
  static const llvm::Target* target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string message;
    return llvm::TargetRegistry::lookupTarget(triple, message);
  }();
  return target;
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
  library.disableAllFunctions();  // a loop must not become a call of memcpy or sqrtf: nothing is linked in
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  // Without the target machine the vectoriser knows no vector registers.
  llvm::PassBuilder builder(&machine);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

/// The object file for one level, in an LLVM context of its own (threads cannot share one), hence the
/// bitcode.
Result<std::string> compile_level(llvm::MemoryBufferRef bitcode, const Level& level) {
  std::string where = std::string("compiling kernels for ") + level.name + ": ";
  llvm::LLVMContext context;
  auto parsed = llvm::parseBitcodeFile(bitcode, context);
  if (!parsed) return Error(where + llvm::toString(parsed.takeError()));
  llvm::Module& module = **parsed;
  const llvm::Target* target = x86_target();
  if (!target) return Error(where + "this LLVM was built without x86");
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, level.name, "", {}, llvm::Reloc::PIC_));
  module.setTargetTriple(triple);
  module.setDataLayout(machine->createDataLayout());
  for (llvm::Function& function : module) {
    function.addFnAttr("target-cpu", level.name);
    function.addFnAttr("prefer-vector-width", level.vector_width);  // v4's default would be 256
  }
  optimize(module, *machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library{llvm::Triple(triple)};
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return Error(where + "LLVM cannot write an object file");
  passes.run(module);
  return std::string(object.begin(), object.end());
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> compile_native(mlir::ModuleOp module) {
  mlir::registerBuiltinDialectTranslation(*module.getContext());
  mlir::registerLLVMDialectTranslation(*module.getContext());
  llvm::SmallVector<char, 0> bitcode;
  {
    llvm::LLVMContext context;
    auto translated = mlir::translateModuleToLLVMIR(module, context, "kernels");
    if (!translated) return Error("the generated kernels could not be translated to LLVM IR");
    llvm::raw_svector_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(*translated, stream);
  }
  llvm::MemoryBufferRef buffer(llvm::StringRef(bitcode.data(), bitcode.size()), "kernels");
  x86_target();
  Result<std::string> first = std::string();
  std::thread other;
  try {
    other = std::thread([&] { first = compile_level(buffer, levels[0]); });
  } catch (const std::system_error&) {  // no thread to be had: one after the other
    first = compile_level(buffer, levels[0]);
  }
  Result<std::string> second = compile_level(buffer, levels[1]);
  if (other.joinable()) other.join();
  // Linked here and not there: lld changes its thread's signal stack, which sanitizers want back at a
  // thread's end.
  std::vector<std::pair<std::string, std::string>> objects;
  for (auto* object : {&first, &second}) {
    if (!*object) return object->error();
    auto linked = link_shared_object(**object);
    if (!linked) return linked.error();
    objects.emplace_back(levels[objects.size()].name, std::move(*linked));
  }
  return objects;
}

}  // namespace sheaf::kernels
