// From the LLVM dialect to a target's code.
#pragma once

#include "runtime/base/error.h"

#include "mlir/IR/BuiltinOps.h"

#include "llvm/Support/CodeGen.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <string>

namespace sheaf::kernels {

struct CodeTarget {
  const char* triple = "";  ///< x86-64 or NVPTX
  const char* cpu = "";
  const char* features = "";
  const char* vector_width = "";  ///< bits of a vector along a loop; empty where each thread computes one element
  llvm::CodeGenFileType kind = llvm::CodeGenFileType::ObjectFile;
};

/// A module in the LLVM dialect as LLVM bitcode. Errors: it has something that LLVM IR doesn't.
Result<std::string> bitcode_of(mlir::ModuleOp module);

/// Optimises and compiles in an LLVM context of its own: threads cannot share one, so each takes the bitcode.
Result<std::string> generate_code(llvm::MemoryBufferRef bitcode, const CodeTarget& target);

}  // namespace sheaf::kernels
