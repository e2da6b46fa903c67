// A program's arguments by what they are and how they are called.
#pragma once

#include "passes/Passes.h"

namespace sheaf::passes {

/// The argument of a program with this role and name; null if there is none.
mlir::BlockArgument find_argument(mlir::func::FuncOp function, llvm::StringRef role, llvm::StringRef name);

/// Appends an argument with this role and name.
mlir::BlockArgument add_argument(mlir::func::FuncOp function, mlir::Type type, llvm::StringRef role, llvm::StringRef name);

}  // namespace sheaf::passes
