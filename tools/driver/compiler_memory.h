// Memory while the compiler runs. LLVM and MLIR are compiled without exceptions, and MLIR writes to malloc's result without
// checking it: if memory runs out inside them, nothing can go on.
#pragma once

namespace sheaf {

/// While an object of this class exists, a failed allocation in any thread calls LLVM's handler of failed allocations
/// (llvm::install_bad_alloc_error_handler), which doesn't return. Otherwise std::bad_alloc is thrown, or null returned, as
/// usual. Not in builds with sanitizers, which have a malloc of their own.
class CompilerMemory {
 public:
  CompilerMemory();
  ~CompilerMemory();
  CompilerMemory(const CompilerMemory&) = delete;
};

}  // namespace sheaf
