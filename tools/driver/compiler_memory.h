// Memory while the compiler runs. LLVM and MLIR are compiled without exceptions, and MLIR writes to what malloc gave it without
// looking: where memory runs out within them, nothing can go on.
#pragma once

namespace sheaf {

/// While one of these is there, an allocation that fails in any thread goes to LLVM's handler of failed allocations
/// (llvm::install_bad_alloc_error_handler), which doesn't return. Elsewhere std::bad_alloc is thrown, or null given, as usual.
/// Not in builds with sanitizers, which have a malloc of their own.
class CompilerMemory {
 public:
  CompilerMemory();
  ~CompilerMemory();
  CompilerMemory(const CompilerMemory&) = delete;
};

}  // namespace sheaf
