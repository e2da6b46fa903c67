#include "codegen/kernels/ptx_text.h"

#include "codegen/kernels/kept_code.h"

#include <system_error>

namespace sheaf::kernels {

PtxText::PtxText(mlir::ModuleOp module) : bitcode_(bitcode_of(module)) {
  if (!bitcode_) return;
  const auto compile = [this] {
    // PTX 7.0 is the first version that knows sm_80.
    text_ = code_of(llvm::MemoryBufferRef(*bitcode_, "kernels"),
                    {"nvptx64-nvidia-cuda", "sm_80", "+ptx70", "", llvm::CodeGenFileType::AssemblyFile});
  };
  try {
    thread_ = std::thread(compile);
  } catch (const std::system_error&) {  // no thread available
    compile();
  }
}

PtxText::~PtxText() {
  if (thread_.joinable()) thread_.join();
}

Result<std::string> PtxText::take() {
  if (thread_.joinable()) thread_.join();
  if (!bitcode_) return bitcode_.error();
  return std::move(text_);
}

}  // namespace sheaf::kernels
