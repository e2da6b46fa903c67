#include "codegen/kernels/kept_code.h"

#include "runtime/base/kept_files.h"

#include "llvm/Config/llvm-config.h"

namespace sheaf::kernels {
namespace {

/// All that the code depends on: the bitcode, the target, LLVM, and the file that drives LLVM (its digest, from codegen/kernels/CMakeLists.txt).
std::string key_of(llvm::MemoryBufferRef bitcode, const CodeTarget& target) {
  std::string key = "kernels by LLVM " LLVM_VERSION_STRING ", driven by " SHEAF_LLVM_CODE_DIGEST;
  for (const char* part : {target.triple, target.cpu, target.features, target.vector_width}) key.append("\n").append(part);
  key += target.kind == llvm::CodeGenFileType::ObjectFile ? "\nobject\n" : "\ntext\n";
  return key.append(bitcode.getBufferStart(), bitcode.getBufferSize());
}

}  // namespace

Result<std::string> code_of(llvm::MemoryBufferRef bitcode, const CodeTarget& target) {
  const KeptFiles files = KeptFiles::of_user("kernels");
  const std::string key = key_of(bitcode, target);
  if (auto kept = files.find(key)) return std::move(*kept);
  SHEAF_ASSIGN(auto code, generate_code(bitcode, target));
  (void)files.keep(key, code);  // a cache that can't be written costs time and nothing else
  return code;
}

}  // namespace sheaf::kernels
