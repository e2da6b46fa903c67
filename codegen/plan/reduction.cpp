#include "codegen/plan/reduction.h"

#include "codegen/plan/element_chain.h"
#include "codegen/plan/program_builder.h"

using namespace mlir;

namespace sheaf::codegen {

SmallVector<int64_t> reduced_dims(Operation& op) {
  if (auto sum = dyn_cast<nn::SumOp>(op)) return SmallVector<int64_t>(sum.getDims());
  if (auto extremum = dyn_cast<nn::ExtremumOp>(op)) return SmallVector<int64_t>(extremum.getDims());
  return SmallVector<int64_t>(cast<nn::MeanOp>(op).getDims());
}

Result<kernels::MeanSpec> reduction_spec(Operation& op, const ir::ShapeAnalysis& shapes) {
  kernels::MeanSpec spec;
  const ir::TensorShape& x = shapes.of(op.getOperand(0));
  spec.x = operand_of(x);
  spec.output = dtype_of(shapes.of(op.getResult(0)).element);
  using kernels::Reduction;
  if (isa<nn::SumOp>(op)) spec.take = Reduction::sum;
  if (auto extremum = dyn_cast<nn::ExtremumOp>(op)) spec.take = extremum.getMinimum() ? Reduction::minimum : Reduction::maximum;
  spec.name = op.getName().stripDialect().str();
  SmallVector<int64_t> dims = reduced_dims(op);
  int64_t first = x.rank(), last = -1;
  for (int64_t dim : dims) {
    first = std::min(first, *ir::normalize_dim(dim, x.rank()));
    last = std::max(last, *ir::normalize_dim(dim, x.rank()));
  }
  spec.dim = first;
  spec.dims = last - first + 1;
  // nn-lower-layers and GradientBuilder::sum split reductions over non-adjacent dimensions.
  if (spec.dims != static_cast<int64_t>(dims.size()))
    return Error("internal error: a " + spec.name + " over dimensions that are not adjacent");
  return spec;
}

}  // namespace sheaf::codegen
