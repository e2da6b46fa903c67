// From the LLVM dialect to shared objects for x86-64.
#pragma once

#include "runtime/base/error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace sheaf::kernels {

/// Compiles a module in the LLVM dialect once for each instruction-set level ("x86-64-v3", "x86-64-v4"), in parallel, and links
/// each to a self-contained shared object. Pairs of level and the object's bytes.
Result<std::vector<std::pair<std::string, std::string>>> compile_native(mlir::ModuleOp module);

/// Links one relocatable object to a shared object without undefined symbols. lld has global state, so calls take turns.
/// Errors: lld's own, or no memory.
Result<std::string> link_shared_object(const std::string& object);

}  // namespace sheaf::kernels
