// The optimisers, each a row of a table (Optimizers.cpp). dist-optimize builds their updates where the parameters live.
#pragma once

#include "passes/Passes.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace sheaf::passes {

/// An optimiser's arguments: PyTorch's (frontend/signatures.cpp has their names and defaults).
struct OptimizerArguments {
  mlir::DictionaryAttr dictionary;
  llvm::StringRef type() const;
  double number(llvm::StringRef name) const;  ///< 0 if there is none
  double beta(unsigned i) const;
  bool flag(llvm::StringRef name) const;
};

/// A 0-dimensional operand of updates: a setting of the step (docs/training.md), or the value that `of_step` computes from the
/// setting `step`.
struct OptimizerScalar {
  llvm::StringRef name;
  std::function<mlir::Value(mlir::OpBuilder&, mlir::Location, mlir::Value step)> of_step = nullptr;
};

/// The operands of an update by name: "parameter", "gradient", the states and the scalars.
using UpdateOperands = llvm::StringMap<mlir::Value>;

struct Optimizer {
  llvm::StringLiteral name;
  /// Its state, entries of the parameter's shape that begin as zeros: "exp_avg".
  llvm::SmallVector<llvm::StringRef> (*states)(const OptimizerArguments&);
  llvm::SmallVector<OptimizerScalar> (*scalars)(const OptimizerArguments&);
  /// The parameter's new value, then its states' new values, in their order.
  llvm::SmallVector<mlir::Value> (*build)(mlir::OpBuilder&, mlir::Location, const OptimizerArguments&, const UpdateOperands&);
};

/// The optimiser of this name; null if there is none.
const Optimizer* find_optimizer(llvm::StringRef name);

}  // namespace sheaf::passes
