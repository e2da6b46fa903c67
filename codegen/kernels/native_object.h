// From the LLVM dialect to shared objects for x86-64.
#pragma once

#include "runtime/base/error.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <utility>
#include <vector>

namespace sheaf::kernels {

/// Compiles a module in the LLVM dialect once for each instruction-set level ("x86-64-v3", "x86-64-v4"), side
/// by side, and links each to a shared object that needs no other. Pairs of level and the object's bytes.
Result<std::vector<std::pair<std::string, std::string>>> compile_native(mlir::ModuleOp module);

/// Links one relocatable object to a shared object without undefined symbols. lld works with global state, so
/// calls take turns. Errors: what lld says, or that there is no memory.
Result<std::string> link_shared_object(const std::string& object);

}  // namespace sheaf::kernels
