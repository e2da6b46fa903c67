// Gradients of linear layers: dx = dy · weight; dweight = dyᵀ · x and dbias = Σ dy over the rows.
#include "runtime/cuda/channel_sums.h"
#include "runtime/cuda/vendor/cublaslt_operation.h"

#include <algorithm>

namespace sheaf::cuda {

Result<Prepared> prepare_linear_backward_data(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const Dims &dy = operands.operand("dy").dims, &weight = operands.operand("weight").dims, &dx = operands.output().dims;
  require(!dy.empty() && weight.size() == 2 && dy.back() == weight[0],
          "dy " + to_string(dy) + " and weight " + to_string(weight) + " don't fit");
  Dims expected = dy;
  expected.back() = weight[1];
  require(dx == expected, "output has shape " + to_string(dx) + ", expected " + to_string(expected));
  const int64_t rows = product(dy, 0, dy.size() - 1), in = weight[1], out = weight[0];

  Prepared prepared = operands.prepared();
  std::unique_ptr<ProductOperation> operation;
  if (!context.planning()) operation = std::make_unique<ProductOperation>(*context.driver, context.device, context.own);
  const MemoryRef to{int(request.inputs.size()), 0};
  if (out == 0) {
    if (operation) operation->zeros.push_back({to, prepared.outputs[0].bytes});
    prepared.implementation = "fill";
    prepared.reason = "without output features the gradient is zero";
  } else {
    LtRequest wanted;
    wanted.product = linear_data_gradient(rows, in, out);
    wanted.operands = wanted.result = operands.dtype();
    wanted.a = {operands.find("weight"), 0};
    wanted.b = {operands.find("dy"), 0};
    wanted.d = to;
    wanted.fast = request.fast_numerics;
    wanted.deterministic = request.deterministic;
    Chosen chosen = choose_product(context, wanted, prepared.scratch_bytes);
    require(chosen.found, "cuBLASLt has no algorithm for a product of these sizes and types");
    explain_product(context, wanted, chosen.product.get(), "dy · weight", prepared);
    if (operation) operation->product = std::move(chosen.product);
  }
  prepared.executable = std::move(operation);
  return prepared;
}

Result<Prepared> prepare_linear_backward_weight(const PrepareRequest& request, LibraryContext& context) {
  const StepOperands operands(request);
  const Dims &x = operands.operand("x").dims, &dy = operands.operand("dy").dims, &dweight = operands.wide_output().dims;
  const bool bias = operands.flag("bias", false);
  require(request.outputs.size() == (bias ? 2 : 1),
          bias ? "expected dweight and dbias as outputs" : "expected dweight as output");
  require(!x.empty() && x.size() == dy.size() && std::equal(x.begin(), x.end() - 1, dy.begin()),
          "x " + to_string(x) + " and dy " + to_string(dy) + " don't fit");
  const Dims expected = {dy.back(), x.back()};
  require(dweight == expected, "output has shape " + to_string(dweight) + ", expected " + to_string(expected));
  if (bias) require(operands.wide_output(1).dims == Dims{dy.back()}, "dbias should have shape " + to_string(Dims{dy.back()}));
  const int64_t rows = product(x, 0, x.size() - 1), in = x.back(), out = dy.back();

  Prepared prepared = operands.prepared();
  std::unique_ptr<ProductOperation> operation;
  if (!context.planning()) operation = std::make_unique<ProductOperation>(*context.driver, context.device, context.own);
  const MemoryRef to{int(request.inputs.size()), 0}, bias_to{int(request.inputs.size()) + 1, 0};
  const MemoryRef from{operands.find("dy"), 0};
  const auto sum_bias = [&] {
    std::vector<KernelCall> none;
    add_column_sums(operation ? operation->after : none, operation ? &own_kernels_of(context) : nullptr, bias_to, from,
                    operands.dtype(), rows, out, prepared.scratch_bytes);
  };
  if (rows == 0 || in == 0) {
    for (size_t i = 0; operation && i < prepared.outputs.size(); ++i)
      operation->zeros.push_back({{to.buffer + int(i), 0}, prepared.outputs[i].bytes});
    if (bias && rows != 0) sum_bias();
    prepared.implementation = "fill";
    prepared.reason = rows == 0 ? "a sum over no rows is zero" : "without input features there is only the bias's gradient";
    prepared.executable = std::move(operation);
    return prepared;
  }
  LtRequest wanted;
  wanted.product = linear_weight_gradient(rows, in, out);
  wanted.operands = operands.dtype();
  wanted.result = DType::float32;
  wanted.a = {operands.find("x"), 0};
  wanted.b = from;
  wanted.d = to;
  wanted.fast = request.fast_numerics;
  wanted.deterministic = request.deterministic;
  Chosen chosen;
  std::string why = "dyᵀ · x";
  // B is dy: its sums over k, the rows, are the bias's gradient.
  if (bias) {
    wanted.epilogue = CUBLASLT_EPILOGUE_BGRADB;
    wanted.bias = bias_to;
    size_t scratch = 0;
    chosen = choose_product(context, wanted, scratch);
    if (chosen.found) {
      prepared.scratch_bytes = scratch;
      why += ", the bias's gradient in its epilogue";
    }
  }
  if (!chosen.found) {
    wanted.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    wanted.bias = {};
    chosen = choose_product(context, wanted, prepared.scratch_bytes);
    require(chosen.found, "cuBLASLt has no algorithm for a product of these sizes and types");
    if (bias) {
      sum_bias();
      why += ", the bias's gradient by the project's own kernel: cuBLASLt has no algorithm with it for these sizes";
    }
  }
  explain_product(context, wanted, chosen.product.get(), why, prepared);
  if (operation) operation->product = std::move(chosen.product);
  prepared.executable = std::move(operation);
  return prepared;
}

}  // namespace sheaf::cuda
