// A product's descriptors, the choice of its algorithm, its calls.
#include "runtime/cuda/vendor/cublaslt.h"

#include <algorithm>

namespace sheaf::cuda {
namespace {

constexpr uint32_t kAligned = 16;  ///< bytes: the widest access to memory that algorithms make
constexpr int kCandidates = 8;

cudaDataType_t cuda_type(DType dtype) {
  return dtype == DType::bfloat16 ? CUDA_R_16BF : dtype == DType::float16 ? CUDA_R_16F : CUDA_R_32F;
}

bool has_bias(cublasLtEpilogue_t epilogue) {
  return (epilogue & (CUBLASLT_EPILOGUE_BIAS | CUBLASLT_EPILOGUE_BGRADA | CUBLASLT_EPILOGUE_BGRADB)) != 0;
}

}  // namespace

Result<cublasLtMatrixLayout_t> LtProduct::layout(const MatrixLayout& matrix, DType dtype) {
  if (matrix.rows > INT32_MAX || matrix.columns > INT32_MAX || request_.product.batch > INT32_MAX)
    return Error("a matrix of " + std::to_string(matrix.rows) + " × " + std::to_string(matrix.columns) +
                 " is larger than cuBLASLt's");
  cublasLtMatrixLayout_t made = nullptr;
  auto status =
      library_->create_layout(&made, cuda_type(dtype), uint64_t(matrix.rows), uint64_t(matrix.columns), matrix.leading);
  if (status != CUBLAS_STATUS_SUCCESS) return library_->failure("cublasLtMatrixLayoutCreate", status);
  if (request_.product.batch > 1) {
    const auto count = int32_t(request_.product.batch);
    status = library_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == CUBLAS_STATUS_SUCCESS)
      status = library_->set_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &matrix.stride, sizeof matrix.stride);
    if (status != CUBLAS_STATUS_SUCCESS) {
      library_->destroy_layout(made);
      return library_->failure("cublasLtMatrixLayoutSetAttribute", status);
    }
  }
  return made;
}

Result<std::unique_ptr<LtProduct>> LtProduct::describe(std::shared_ptr<CublasLt> library, const LtRequest& request) {
  std::unique_ptr<LtProduct> made(new LtProduct(std::move(library), request));
  const MatrixProduct& p = request.product;
  const CublasLt& lt = *made->library_;
  // f32 is summed as f32 whatever the operands are; TF32 must be requested.
  const auto compute = request.fast && request.operands == DType::float32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  auto status = lt.create_desc(&made->desc_, compute, CUDA_R_32F);
  if (status != CUBLAS_STATUS_SUCCESS) return lt.failure("cublasLtMatmulDescCreate", status);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    if (status == CUBLAS_STATUS_SUCCESS) status = lt.set_desc(made->desc_, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t(p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(request.epilogue));
  if (status != CUBLAS_STATUS_SUCCESS) return lt.failure("cublasLtMatmulDescSetAttribute", status);
  struct {
    const MatrixLayout& matrix;
    DType dtype;
    cublasLtMatrixLayout_t& to;
  } const wanted[] = {{p.a, request.operands, made->a_}, {p.b, request.operands, made->b_}, {p.d, request.result, made->d_}};
  for (const auto& [matrix, dtype, to] : wanted) {
    SHEAF_ASSIGN(to, made->layout(matrix, dtype));
  }
  return made;
}

LtProduct::~LtProduct() {
  for (cublasLtMatrixLayout_t layout : {a_, b_, d_})
    if (layout) library_->destroy_layout(layout);
  if (desc_) library_->destroy_desc(desc_);
}

Result<void> LtProduct::set_bias(const void* pointer) {
  const auto status = library_->set_desc(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer, sizeof pointer);
  if (status != CUBLAS_STATUS_SUCCESS) return library_->failure("cublasLtMatmulDescSetAttribute", status);
  return {};
}

Result<std::optional<cublasLtMatmulHeuristicResult_t>> LtProduct::ask(uint32_t alignment, int* candidates) {
  // Only the bias's alignment is checked here.
  if (has_bias(request_.epilogue)) {
    SHEAF_TRY(set_bias(reinterpret_cast<const void*>(uintptr_t{alignment})));
  }
  cublasLtMatmulPreference_t preference = nullptr;
  auto status = library_->create_preference(&preference);
  if (status != CUBLAS_STATUS_SUCCESS) return library_->failure("cublasLtMatmulPreferenceCreate", status);
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    if (status == CUBLAS_STATUS_SUCCESS) status = library_->set_preference(preference, attribute, &value, sizeof value);
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceLimit});
  // Parts of a sum over k that are added up afterwards: never in a narrow type, and in a fixed order if requested.
  uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  if (!request_.deterministic && request_.result == DType::float32) schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  for (const auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                               CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    set(attribute, alignment);
  cublasLtMatmulHeuristicResult_t found[kCandidates];
  int count = 0;
  const bool prepared = status == CUBLAS_STATUS_SUCCESS;
  if (prepared)
    status = library_->get_heuristic(library_->handle(), desc_, a_, b_, d_, d_, preference, kCandidates, found, &count);
  library_->destroy_preference(preference);
  if (!prepared) return library_->failure("cublasLtMatmulPreferenceSetAttribute", status);
  // Products without an algorithm are refused in one of these ways.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_ARCH_MISMATCH)
    return std::optional<cublasLtMatmulHeuristicResult_t>();
  if (status != CUBLAS_STATUS_SUCCESS) return library_->failure("cublasLtMatmulAlgoGetHeuristic", status);
  const auto best = std::find_if(found, found + count, [](const auto& one) {
    return one.state == CUBLAS_STATUS_SUCCESS && one.workspaceSize <= kWorkspaceLimit;
  });
  if (candidates) *candidates = count;
  return best == found + count ? std::optional<cublasLtMatmulHeuristicResult_t>() : *best;
}

Result<bool> LtProduct::choose(size_t& scratch_bytes) {
  const auto element = uint32_t(std::min(size_of(request_.operands), size_of(request_.result)));
  auto best = ask(kAligned, &candidates_);
  if (!best) return best.error();
  auto any = ask(element, nullptr);
  if (!any) return any.error();
  if (!*best) best = any;  // rows that aren't a multiple of 16 bytes can rule out all algorithms of that kind
  if (!*best || !*any) return false;
  aligned_ = **best;
  unaligned_ = **any;
  workspace_bytes_ = std::max(aligned_.workspaceSize, unaligned_.workspaceSize);
  if (workspace_bytes_ != 0) workspace_ = take_scratch(scratch_bytes, workspace_bytes_);
  describe_algorithm(aligned_.algo);
  return true;
}

void LtProduct::describe_algorithm(const cublasLtMatmulAlgo_t& algo) {
  const auto get = [&](cublasLtMatmulAlgoConfigAttributes_t attribute) {
    int32_t value = 0;
    size_t written = 0;
    library_->get_algo_attribute(&algo, attribute, &value, sizeof value, &written);
    return value;
  };
  algorithm_ = "algorithm " + std::to_string(get(CUBLASLT_ALGO_CONFIG_ID)) + ", tile " +
               std::to_string(get(CUBLASLT_ALGO_CONFIG_TILE_ID));
  if (const int32_t parts = get(CUBLASLT_ALGO_CONFIG_SPLITK_NUM); parts > 1)
    algorithm_ += ", " + std::to_string(parts) + " parts of k";
}

Result<void> LtProduct::enqueue(const Enqueue& at) {
  const float one = 1, zero = 0;
  const size_t operand = size_of(request_.operands), result = size_of(request_.result);
  char *a = request_.a.resolve(at), *b = request_.b.resolve(at), *c = request_.c.resolve(at), *d = request_.d.resolve(at);
  const char* bias = request_.bias.resolve(at);
  if (has_bias(request_.epilogue)) {
    SHEAF_TRY(set_bias(bias));
  }
  for (const ProductOffsets& call : request_.calls) {
    void *call_a = a + size_t(call.a) * operand, *call_b = b + size_t(call.b) * operand, *call_d = d + size_t(call.d) * result,
         *call_c = c ? c + size_t(call.d) * result : call_d;
    uintptr_t addresses = reinterpret_cast<uintptr_t>(bias);
    for (void* pointer : {call_a, call_b, call_c, call_d}) addresses |= reinterpret_cast<uintptr_t>(pointer);
    const auto& chosen = addresses % kAligned == 0 ? aligned_ : unaligned_;
    const auto status =
        library_->matmul(library_->handle(), desc_, &one, call_a, a_, call_b, b_, c ? &one : &zero, call_c, d_, call_d, d_,
                         &chosen.algo, workspace_.resolve(at), workspace_bytes_, reinterpret_cast<cudaStream_t>(at.stream));
    if (status != CUBLAS_STATUS_SUCCESS) return library_->failure("cublasLtMatmul", status);
  }
  return {};
}

}  // namespace sheaf::cuda
