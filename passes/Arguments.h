// A program's arguments by role and name.
#pragma once

#include "passes/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace sheaf::passes {

/// The argument of a program with this role and name; null if there is none.
mlir::BlockArgument find_argument(mlir::func::FuncOp function, llvm::StringRef role, llvm::StringRef name);

/// All arguments of a program with this role, by name.
llvm::StringMap<mlir::BlockArgument> arguments_of(mlir::func::FuncOp function, llvm::StringRef role);

/// Appends an argument with this role and name.
mlir::BlockArgument add_argument(mlir::func::FuncOp function, mlir::Type type, llvm::StringRef role, llvm::StringRef name);

}  // namespace sheaf::passes
