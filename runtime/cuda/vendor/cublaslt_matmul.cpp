// Matrix products with torch.matmul's rules.
#include "runtime/cuda/vendor/cublaslt_operation.h"

namespace sheaf::cuda {

Result<Prepared> prepare_matmul(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const TensorSpec &a = operands.operand("a"), &b = operands.operand("b"), &y = operands.output();
  const BatchedProduct batched =
      matmul_product(a.dims, b.dims, y.dims, operands.flag("transpose_a", false), operands.flag("transpose_b", false));
  Prepared prepared = operands.prepared();
  std::unique_ptr<ProductOperation> operation;
  if (!context.planning()) operation = std::make_unique<ProductOperation>(*context.driver, context.device, context.own);
  const MemoryRef to{int(request.inputs.size()), 0};
  if (batched.product.k == 0) {
    if (operation) operation->zeros.push_back({to, prepared.outputs[0].bytes});
    prepared.implementation = "fill";
    prepared.reason = "a product over nothing is zeros";
  } else {
    LtRequest wanted;
    wanted.product = batched.product;
    wanted.calls = batched.calls;
    wanted.operands = wanted.result = operands.dtype();
    wanted.a = {operands.find("b"), 0};
    wanted.b = {operands.find("a"), 0};
    wanted.d = to;
    wanted.fast = request.fast_numerics;
    wanted.deterministic = request.deterministic;
    Chosen chosen = choose_product(context, wanted, prepared.scratch_bytes);
    require(chosen.found, "cuBLASLt has no algorithm for a product of these sizes and types");
    explain_product(context, wanted, chosen.product.get(), "", prepared);
    if (operation) operation->product = std::move(chosen.product);
  }
  if (operation) prepared.executable = std::move(operation);
  else prepared.executable = planned_launches_of(int(std::max<size_t>(batched.calls.size(), 1)));
  return prepared;
}

}  // namespace sheaf::cuda
