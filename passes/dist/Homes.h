// Where parameters of a parallel region live under strategies that keep them there (docs/strategies.md).
#pragma once

#include "passes/Passes.h"

#include <vector>

namespace sheaf::passes {

/// A parameter that only one region's replicas use.
struct RegionParameter {
  mlir::BlockArgument value;
  dist::ReplicatedAttr copies;  ///< the layout of the value the replicas use
  dist::ReduceOp gradient;      ///< its gradient as it reaches its home; null: the loss doesn't depend on it
};

/// The homes of a function with gradients. Excludes parameters whose gradient isn't just the sum over the region's replicas.
std::vector<RegionParameter> region_parameters(mlir::func::FuncOp function);

/// Gives the parameter's argument the layout `home`.
void set_home(mlir::BlockArgument parameter, mlir::Attribute home);

/// Makes each replica the parameter's home, so that no step replicates it.
void keep_copies(const RegionParameter& parameter);

/// Turns the gradient's reduce into a `Collective` with a result of the layout `to`.
template <typename Collective>
void collect(dist::ReduceOp reduce, mlir::Attribute to, llvm::StringRef reason) {
  mlir::OpBuilder builder(reduce);
  auto type = dist::PlacedType::get(builder.getContext(), reduce.getOutput().getType().getTensor(), to);
  auto sum = builder.create<Collective>(reduce.getLoc(), type, reduce.getInput(), builder.getStringAttr(reason));
  reduce.getOutput().replaceAllUsesWith(sum.getOutput());
  reduce.erase();
}

/// Finishes the rewrite: sets the function's type to that of its body, and warns if no parameter was found, `parameters` being
/// their number.
void finish_homes(mlir::func::FuncOp function, size_t parameters, Strategy strategy);

}  // namespace sheaf::passes
