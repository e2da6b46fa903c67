#include "runtime/cuda/vendor/cublaslt_operation.h"

namespace sheaf::cuda {

Result<void> ProductOperation::enqueue(const Enqueue& at) {
  SHEAF_TRY(driver_.make_current(device_));
  for (const Zeros& range : zeros) SHEAF_TRY(driver_.fill(at.stream, range.where.resolve(at), 0, range.bytes));
  if (product) SHEAF_TRY(product->enqueue(at));
  for (KernelCall& call : after) SHEAF_TRY(call.enqueue(driver_, at));
  return {};
}

std::shared_ptr<CublasLt> cublaslt_of(LibraryContext& context) {
  require(context.cublaslt != nullptr, context.no_cublaslt);
  if (auto made = context.cublaslt->make_handle(*context.driver, context.device); !made)
    throw OperationError(made.error().message());
  return context.cublaslt;
}

OwnKernels& own_kernels_of(LibraryContext& context) {
  require(context.own != nullptr, context.no_own);
  return *context.own;
}

Chosen choose_product(LibraryContext& context, const LtRequest& request, size_t& scratch_bytes) {
  Chosen chosen;
  if (context.planning()) {
    take_scratch(scratch_bytes, LtProduct::kWorkspaceLimit);
    chosen.found = true;
    return chosen;
  }
  auto product = LtProduct::describe(cublaslt_of(context), request);
  require(bool(product), product ? "" : product.error().message());
  auto found = (*product)->choose(scratch_bytes);
  require(bool(found), found ? "" : found.error().message());
  chosen.found = *found;
  if (*found) chosen.product = std::move(*product);
  return chosen;
}

void explain_product(const LibraryContext& context, const LtRequest& request, const LtProduct* product, const std::string& why,
                     Prepared& prepared) {
  const MatrixProduct& p = request.product;
  prepared.implementation = "cuBLASLt";
  if (product) prepared.implementation += " " + product->algorithm();
  std::string arithmetic = "f32 as it is";
  if (request.operands != DType::float32) arithmetic = std::string(name_of(request.operands)) + " operands, summed in f32";
  else if (request.fast) arithmetic = "f32 rounded to TF32 for the tensor cores (--numerics fast)";
  prepared.reason = why;
  prepared.reason += (why.empty() ? "" : "; ") + std::string("a product of ") + std::to_string(p.m) + " × " +
                     std::to_string(p.k) + " by " + std::to_string(p.k) + " × " + std::to_string(p.n);
  if (p.batch > 1) prepared.reason += ", " + std::to_string(p.batch) + " at a time";
  if (request.calls.size() > 1) prepared.reason += ", in " + std::to_string(request.calls.size()) + " calls";
  prepared.reason += ", " + arithmetic;
  if (product) {
    prepared.reason += ": cuBLASLt's first choice of " + std::to_string(product->candidates()) + " on a " +
                       context.properties.name + " with at most 32 MiB to work in";
    if (request.deterministic) prepared.reason += " and sums in a fixed order";
  } else {
    prepared.reason += "; its algorithm is chosen on the GPU";
    prepared.uncertain =
        "its workspace is counted as 32 MiB, the most that cuBLASLt may take: the algorithm is chosen on the GPU";
  }
}

}  // namespace sheaf::cuda
